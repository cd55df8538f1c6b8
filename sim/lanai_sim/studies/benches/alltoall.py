"""`MPI_Alltoall` and a barrier behind it, in simulated time: with the bound on the bytes that a rank
sends at a time (`Choices.alltoall_under_way`), and with all sends at once."""

import argparse

from lanai_host.errors import UserError

from ...job.job import Job
from .. import ranks

NAME = "alltoall"
HELP = "an all-to-all on mbcf, with a bound on the bytes that a rank sends at a time and without"
DEVICE = "mbcf"
SHAPES = ((8, 1024), (8, 4096), (8, 65536), (16, 1024), (16, 4096))  # ranks, bytes of a block
WAYS: dict[str, dict[str, int]] = {"bounded": {}, "at_once": {"alltoall": 0}}

PROGRAM = """
import json, sys
from mpi4py import MPI

world = MPI.COMM_WORLD
size = int(sys.argv[2])
sent, received = bytes(size * world.size), bytearray(size * world.size)
world.Alltoall(sent, received)  # pages are pinned
world.Barrier()
begin = MPI.Wtime()
world.Alltoall(sent, received)
world.Barrier()
if world.rank == 0:
    json.dump({"us": (MPI.Wtime() - begin) * 1e6}, open(sys.argv[1], "w"))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, metavar="N", help="only with so many ranks")
    parser.add_argument("--size", type=int, metavar="BYTES", help="only with blocks of so many bytes")


def measure(count: int, size: int, options: dict[str, int]) -> float:
    """Microseconds of one all-to-all of so many ranks, whose memory has been used before."""
    return ranks.measure(PROGRAM, (size,), Job((), count, DEVICE, options=options))["us"]


def run(args: argparse.Namespace) -> dict[str, float]:
    shapes = [shape for shape in SHAPES if args.ranks in (None, shape[0]) and args.size in (None, shape[1])]
    if not shapes:
        known = ", ".join(f"{count} ranks {size} bytes" for count, size in SHAPES)
        raise UserError(f"--ranks {args.ranks} --size {args.size} is not measured; there are {known}")
    return {
        f"alltoall.{way}.us.{count}.{size}": measure(count, size, options)
        for count, size in shapes
        for way, options in WAYS.items()
    }
