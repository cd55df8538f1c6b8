"""A search for MPI functions that the files of this process name: it can call no others."""

import mmap
import sysconfig
from contextlib import suppress
from functools import cache
from pathlib import Path

from .bindings import CXX, FORTRAN
from .flavor import BRIDGE, FLAVORS
from .installed import shared_libpython

_SESSIONS = (b"MPI_Session_init\0", b"mpi_session_init_\0")
_OWN = {
    *FORTRAN,
    *CXX,
    f"{BRIDGE}.so",
    *(name for flavor in FLAVORS.values() for name in (flavor.soname, *flavor.links)),
}


def names_sessions() -> bool:
    """Return whether the program, or a library that it has loaded, names MPI_Session_init. MPI's own
    libraries do not count, nor does what this library has loaded: to search numpy's takes longer than the
    rest of a short program."""
    lines = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    files = {
        fields[5] for fields in (line.split(maxsplit=5) for line in lines) if len(fields) == 6 and "x" in fields[1]
    }
    others = [file for file in sorted(files) if file.startswith("/") and not file.startswith(_loaded())]
    return any(_names(Path(file)) for file in others if Path(file).name not in _OWN)


@cache
def _loaded() -> tuple[str, ...]:
    """Return the beginnings of the paths of libraries that this library has loaded."""
    import numpy

    folder = Path(numpy.__file__).resolve().parent
    python = shared_libpython()
    return (f"{folder}/", f"{folder}.libs/", f"{sysconfig.get_path('platstdlib')}/", *filter(None, [python]))


@cache
def _names(path: Path) -> bool:
    with suppress(OSError, ValueError), path.open("rb") as file:  # ValueError: it is empty
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(name) >= 0 for name in _SESSIONS)
    return False
