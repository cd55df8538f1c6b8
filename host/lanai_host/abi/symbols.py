"""What functions of MPI the files of this process name, which says what it may still call."""

import mmap
from contextlib import suppress
from pathlib import Path

from .bindings import CXX, FORTRAN
from .flavor import BRIDGE, FLAVORS

_SESSIONS = (b"MPI_Session_init\0", b"mpi_session_init_\0")
_OWN = {
    *FORTRAN,
    *CXX,
    f"{BRIDGE}.so",
    *(name for flavor in FLAVORS.values() for name in (flavor.soname, *flavor.links)),
}


def names_sessions() -> bool:
    """Does the program, or a library that it has loaded, name MPI_Session_init? MPI's own libraries
    do not count."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {
        fields[5] for fields in (line.split(maxsplit=5) for line in lines) if len(fields) == 6 and "x" in fields[1]
    }
    return any(_names(Path(file)) for file in sorted(files) if file.startswith("/") and Path(file).name not in _OWN)


def _names(path: Path) -> bool:
    with suppress(OSError, ValueError), path.open("rb") as file:  # ValueError: it is empty
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(name) >= 0 for name in _SESSIONS)
    return False
