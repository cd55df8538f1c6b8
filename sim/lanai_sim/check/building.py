"""Programs that are given as their source: built with checks of loads and stores."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanai_host.abi.wrappers import WRAPPERS, line
from lanai_host.errors import UserError

SOURCES = {
    ".c": "mpicc", ".cc": "mpicxx", ".cpp": "mpicxx", ".cxx": "mpicxx", ".f90": "mpifort", ".F90": "mpifort",
}  # fmt: skip


@contextlib.contextmanager
def built(command: Sequence[str]) -> Iterator[list[str]]:
    """Give the command with the program of its source, if its first word is one. The program ends with the
    context."""
    wrapper = SOURCES.get(Path(command[0]).suffix)
    if wrapper is None:
        yield list(command)
        return
    with tempfile.TemporaryDirectory(prefix="lanai-check-") as directory:
        program = Path(directory, Path(command[0]).stem)
        compile_ = line(WRAPPERS[wrapper], [command[0], "-o", str(program)], checked=True).command
        if subprocess.run(compile_, check=False).returncode:
            raise UserError(
                f"{command[0]} could not be compiled; build it with `lanai {wrapper} --check` and its flags"
            )
        yield [str(program), *command[1:]]
