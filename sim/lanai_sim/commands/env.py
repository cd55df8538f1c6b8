"""Make a folder with `mpiexec`, `mpirun`, `mpicc`, `mpicxx`, `mpifort` and their other names, and print the line
that puts it on PATH. Build systems and test suites then find this MPI as they find any other:
eval "$(lanai env)"."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from lanai_firmware import output_file
from lanai_firmware.cache import directory, key_of
from lanai_host.errors import UserError

NAME = "env"
HELP = "put mpiexec, mpicc and the like on PATH"
NAMES = {
    "mpiexec": ("mpiexec", "mpirun", "mpiexec.hydra"),
    "mpicc": ("mpicc",),
    "mpicxx": ("mpicxx", "mpic++", "mpiCC"),
    "mpifort": ("mpifort", "mpif90", "mpif77"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", metavar="DIR", help="make this folder (default: one in the cache)")


def run(args: argparse.Namespace) -> int:
    folder = Path(args.folder) if args.folder else directory() / "env" / key_of([sys.executable])[:16]
    folder = make(folder.absolute())
    print(f"export PATH={shlex.quote(str(folder))}{os.pathsep}$PATH")
    return 0


def make(folder: Path) -> Path:
    """Write the commands into a folder. They run under the Python that runs this. Raises UserError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for function, names in NAMES.items():
            for name in names:
                _write(folder / name, script(function))
    except OSError as error:
        raise UserError(
            f"cannot write the commands to {str(folder)!r}: {error.strerror}; name another folder"
        ) from error
    return folder


def script(function: str) -> str:
    """A command that calls a function of `lanai_sim.programs`. The working directory stays out of its `sys.path`."""
    body = f"import sys; from lanai_sim.programs import {function}; sys.exit({function}())"
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -c {shlex.quote(body)} "$@"\n'


def _write(path: Path, text: str) -> None:
    """Write a command at once: another process may run it."""
    if path.is_file() and path.read_text() == text:
        return
    with output_file.replaced(path, "the command") as place:
        place.write_text(text)
        place.chmod(0o755)
