"""Start-up: CPU time, user and system, of a whole `lanai run` whose ranks say hello on NICs, with
everything built before."""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lanai_host.abi import wrappers
from lanai_host.errors import UserError

from .mpi import run_checked

NAME = "start"
HELP = "CPU time of a whole run of ranks that only say hello, in Python and in C"

RANKS = (2, 4, 16, 32)
ROUNDS = 3  # the least of them counts: other work on the machine only ever adds
PYTHON, C = "python", "c"
HELLO = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"
HELLO_IN_C = """
#include <mpi.h>
int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ranks", type=int, nargs="+", default=RANKS, help="sizes of the runs, from 2 up (default: 2 4 16 32)"
    )
    parser.add_argument("--device", default="mpi-np", help="messaging system below MPI (default: %(default)s)")
    parser.add_argument(
        "--language", nargs="+", choices=(PYTHON, C), default=(PYTHON, C), help="of the program (default: both)"
    )


def cpu_seconds(ranks: int, device: str, program: Sequence[str]) -> float:
    """Return the CPU time of one run with all its processes."""
    before = _children()
    command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", str(ranks), "--device", device, *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        raise UserError(f"the run of {ranks} ranks ended with code {done.returncode}:\n{done.stderr.strip()}")
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compiled(folder: Path) -> Sequence[str]:
    """Return the command of the program in C, which is compiled into `folder`."""
    source, program = folder / "hello.c", folder / "hello"
    source.write_text(HELLO_IN_C)
    run_checked(wrappers.line(wrappers.WRAPPERS["mpicc"], ["-O2", "-o", str(program), str(source)]).command)
    return [str(program)]


def of_a_rank(found: dict[int, float]) -> float:
    """Return the CPU seconds that one more rank takes, given those of runs by their number of ranks: between the
    largest run and the smallest one of four ranks or more."""
    sizes = sorted(found)
    least, most = min((size for size in sizes if size >= 4), default=sizes[0]), sizes[-1]
    return (found[most] - found[least]) / (most - least) if most > least else 0.0


def measure(name: str, program: Sequence[str], ranks: Sequence[int], device: str) -> dict[str, float]:
    """Return the CPU seconds of runs of one program, and of one more rank. Names of figures begin with `name`."""
    for count in ranks:
        cpu_seconds(count, device, program)  # builds what is not there yet
    rounds = [{count: cpu_seconds(count, device, program) for count in ranks} for _ in range(ROUNDS)]
    found = {count: min(each[count] for each in rounds) for count in ranks}
    figures = {f"{name}.{count}": seconds for count, seconds in found.items()}
    return figures | ({f"{name}.rank": of_a_rank(found)} if len(found) > 1 else {})


def run(args: argparse.Namespace) -> dict[str, float]:
    wrong = [count for count in args.ranks if count < 1]
    if wrong:
        raise UserError(f"--ranks {wrong[0]} is too small; a run has 1 rank or more")
    figures: dict[str, float] = {}
    if PYTHON in args.language:
        figures |= measure("start.cpu_s", ("python", "-c", HELLO), args.ranks, args.device)
    if C in args.language:
        with tempfile.TemporaryDirectory() as folder:
            figures |= measure("start.c_cpu_s", compiled(Path(folder)), args.ranks, args.device)
    return figures
