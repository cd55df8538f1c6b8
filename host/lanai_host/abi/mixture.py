"""Two MPI libraries in one process: refused before either does anything."""

import re
from pathlib import Path

from ..errors import UserError

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
