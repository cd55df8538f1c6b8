"""A search for MPI functions that the files of this process name: it can call no others."""

import mmap
import re
import sysconfig
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..errors import UserError
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


# Two MPI libraries in one process: refused before either does anything.


_ANY_MPI = re.compile(r"lib(?:mpi|mpi_abi|mpich)\.so(?:\.\d+)*")


def check_process(soname: str, directory: Path, maps: Path = Path("/proc/self/maps")) -> None:
    """Raise UserError if this process has loaded another MPI library beside ours (`soname` in
    `directory`)."""
    try:
        lines = maps.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no /proc here
        return
    ours = (directory / soname).resolve()
    for path in sorted({line.split(None, 5)[5] for line in lines if line.count("/")}):
        if _ANY_MPI.fullmatch(Path(path).name) and Path(path).resolve() != ours:
            raise UserError(
                f"this process has loaded two MPI libraries, {ours} and {path}; their symbols have the same "
                "names, so only one "
                "can be used: build the program and the libraries it uses for one of them"
            )
