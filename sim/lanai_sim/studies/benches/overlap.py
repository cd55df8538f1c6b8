"""The share of a transfer that a rank hides behind computing, in simulated time, on any device.

A rank begins an operation, computes without a call for twice the time that the operation takes alone, and waits for its
end. Hidden is what the whole takes less than both, in percent of the operation alone: time that the rank spends in the
calls that begin and end the operation is not hidden. `send` and `receive` are of a long message, of which the other
rank waits for its end. In the others all ranks compute, and the slowest one counts.
"""

import argparse

from lanai_host.errors import UserError
from lanai_host.stacks import names

from ...job.job import Job
from .. import ranks

NAME = "overlap"
HELP = "share of a transfer, and of nonblocking collectives, that computing hides"
SIZE = 65536
RANKS = 8
SHORT = 8  # bytes of an allreduce and of the shorter bcast

PROGRAM = """
import json, mmap, sys
import numpy as np
from mpi4py import MPI

ROUNDS, TIMES = 3, 2
world = MPI.COMM_WORLD
size, short = map(int, sys.argv[2:])
long, few = (np.frombuffer(mmap.mmap(-1, max(one, 8)), "u1")[:one] for one in (size, short))
numbers, sums = np.ones(short // 8), np.zeros(short // 8)
first = world.Split(world.rank > 1)  # ranks 0 and 1 have it for themselves


def compute(seconds):
    begin = MPI.Wtime()
    while MPI.Wtime() < begin + seconds:
        pass
    return MPI.Wtime() - begin


def span(comm, begin, work):
    # What the operation and `work` seconds of computing take, without the computing.
    comm.Barrier()
    start = MPI.Wtime()
    request = begin()
    worked = compute(work) if work else 0
    request.Wait()
    return MPI.Wtime() - start - worked


def hidden(comm, begin, works=True):
    # Percent. `works`: this rank computes, and counts.
    alone = min(comm.allreduce(works * span(comm, begin, 0), MPI.MAX) for _ in range(ROUNDS))
    left = min(comm.allreduce(works * span(comm, begin, works * TIMES * alone), MPI.MAX) for _ in range(ROUNDS))
    found = {"alone_us": 1e6 * alone, "hidden_percent": max(0, 100 * (1 - left / alone))}
    comm.Barrier()
    return found


def transfer():
    return first.Irecv(long, 0) if first.rank else first.Isend(long, 1)


all_ranks = {
    "barrier": world.Ibarrier,
    f"bcast_{short}": lambda: world.Ibcast(few, 0),
    f"bcast_{size}": lambda: world.Ibcast(long, 0),
    f"allreduce_{short}": lambda: world.Iallreduce(numbers, sums),
}
found = {}
if world.rank < 2:
    found = {name: hidden(first, transfer, first.rank == who) for who, name in enumerate(("send", "receive"))}
world.Barrier()
found |= {name: hidden(world, begin) for name, begin in all_ranks.items()}
if world.rank == 0:
    json.dump({f"{one}.{name}": v for one, row in found.items() for name, v in row.items()}, open(sys.argv[1], "w"))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="lanai2", choices=names(), help="messaging system (default: %(default)s)")
    parser.add_argument("-n", "--ranks", type=int, default=RANKS, metavar="N", help="(default: %(default)s)")
    parser.add_argument(
        "--size", type=int, default=SIZE, metavar="BYTES", help="of the long message (default: %(default)s)"
    )


def measure(job: Job, size: int = SIZE) -> dict[str, float]:
    """Microseconds of each operation alone, and the percentage of it that is hidden. The job's program is not looked
    at."""
    return ranks.measure(PROGRAM, (size, SHORT), job)


def run(args: argparse.Namespace) -> dict[str, float]:
    if args.ranks < 2:
        raise UserError(f"--ranks {args.ranks} is too small; a transfer has two ends")
    if args.size < 1:
        raise UserError(f"--size {args.size} measures nothing; take at least 1")
    found = measure(Job((), args.ranks, args.device), args.size)
    return {f"overlap.{args.device}.{name}": value for name, value in found.items()}
