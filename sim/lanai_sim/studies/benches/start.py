"""Start-up: CPU time, user and system, of a whole `lanai run` whose ranks say hello on NICs, with
everything built before."""

import argparse
import os
import resource
import subprocess
import sys

from lanai_host.errors import UserError

NAME = "start"
HELP = "CPU time of a whole run of ranks that only say hello"

RANKS = (2, 16)
ROUNDS = 3  # the least of them counts: other work on the machine only ever adds
HELLO = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS, help="sizes of the runs (default: 2 16)")
    parser.add_argument("--device", default="mpi-np", help="messaging system below MPI (default: %(default)s)")


def cpu_seconds(ranks: int, device: str) -> float:
    """Return the CPU time of one run with all its processes."""
    before = _children()
    command = [
        sys.executable,
        "-m",
        "lanai_sim",
        "run",
        "-q",
        "-n",
        str(ranks),
        "--device",
        device,
        "python",
        "-c",
        HELLO,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        raise UserError(f"the run of {ranks} ranks ended with code {done.returncode}:\n{done.stderr.strip()}")
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(args: argparse.Namespace) -> dict[str, float]:
    for ranks in args.ranks:
        cpu_seconds(ranks, args.device)  # builds what is not there yet
    rounds = [{ranks: cpu_seconds(ranks, args.device) for ranks in args.ranks} for _ in range(ROUNDS)]
    return {f"start.cpu_s.{ranks}": min(each[ranks] for each in rounds) for ranks in args.ranks}
