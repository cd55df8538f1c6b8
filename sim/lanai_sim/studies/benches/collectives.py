"""Time and host work of collective operations by the number of ranks, in simulated time, on any device; also with one
rank that comes late. All of it is read from a trace of a run that makes each call several times, a barrier before each.

Figures of an operation, the mean of its calls:

`us`: from the moment when the last rank has entered the call until the last one has left it.
`in_call_us`: the ranks' mean time in the call. With a late rank, of the others: that is what the call takes of a
processor that polls.
`host_us`: their mean host work and programmed I/O, which is what the call takes of a processor that can do something
else while it waits.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from lanai_host.errors import UserError
from lanai_host.stacks import names

from ...executors import place
from ...executors.workers import each
from ...job.job import Job
from .. import ranks

NAME = "collectives"
HELP = "time and host work of collective operations by ranks, also with a late rank"
RANKS = (2, 4, 8, 16)
CALLS = 3
LATE_US = 1000
LONG = 65536
OPERATIONS = {  # by name: the call, and its bytes
    "barrier": ("MPI_Barrier", 0),
    "bcast_8": ("MPI_Bcast", 8),
    f"bcast_{LONG}": ("MPI_Bcast", LONG),
    "reduce_8": ("MPI_Reduce", 8),
    "allreduce_8": ("MPI_Allreduce", 8),
    "allgather_8": ("MPI_Allgather", 8),
}

PROGRAM = """
import mmap, sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
calls, late, *operations = sys.argv[1:]


def operation(name, size):
    ours, all_of_them = (np.frombuffer(mmap.mmap(-1, max(n * size, 8)))[: n * size // 8] for n in (1, world.size))
    more = np.copy(ours)
    return {
        "MPI_Barrier": world.Barrier,
        "MPI_Bcast": lambda: world.Bcast(ours, 0),
        "MPI_Reduce": lambda: world.Reduce(ours, more if world.rank == 0 else None),
        "MPI_Allreduce": lambda: world.Allreduce(ours, more),
        "MPI_Allgather": lambda: world.Allgather(ours, all_of_them),
    }[name]


for name, size in zip(operations[::2], operations[1::2]):
    call = operation(name, int(size))
    for _ in range(int(calls)):
        world.Barrier()
        end = MPI.Wtime() + 1e-6 * int(late) * (world.rank == world.size - 1)
        while MPI.Wtime() < end:
            pass
        call()
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="lanai2", choices=names(), help="messaging system (default: %(default)s)")
    parser.add_argument(
        "-n", "--ranks", type=int, nargs="+", default=RANKS, metavar="N", help="sizes of the runs (default: 2 4 8 16)"
    )
    parser.add_argument(
        "--late", type=int, default=LATE_US, metavar="US", help="microseconds of the late rank (default: %(default)s)"
    )
    parser.add_argument("--calls", type=int, default=CALLS, metavar="N", help="of each kind (default: %(default)s)")
    place.add_arguments(parser, "runs")


def measure(
    job: Job, operations: Sequence[str] = tuple(OPERATIONS), late: int = 0, calls: int = CALLS
) -> dict[str, float]:
    """Return the figures of operations on a job's ranks, the last of which is late by so many microseconds. The job's
    program is not looked at. The first call of each operation, which pins pages, does not count."""
    words = [str(word) for name in operations for word in OPERATIONS[name]]
    program = ("python", "-c", PROGRAM, str(calls + 1), str(late), *words)
    trace = job.but(program=program).run(trace=True).check().trace
    known = {name for name, _ in OPERATIONS.values()}
    spans = [ranks.spans(trace, rank, known) for rank in range(job.ranks)]
    figures: dict[str, float] = {}
    for number, name in enumerate(operations):
        first = 2 * (calls + 1) * number
        timed = np.array([mine[first + 3 : first + 2 * (calls + 1) : 2] for mine in spans])  # rank, call, figure
        begin, end, worked = np.moveaxis(timed, 2, 0) / 1e6
        others = slice(0, -1 if late else None)
        figures[f"{name}.us"] = float((end.max(0) - begin.max(0)).mean())
        figures[f"{name}.in_call_us"] = float((end - begin)[others].mean())
        figures[f"{name}.host_us"] = float(worked[others].mean())
    return figures


def _point(point: tuple[str, int, int, int]) -> dict[str, float]:
    device, count, late, calls = point
    return measure(Job((), count, device), late=late, calls=calls)


def run(args: argparse.Namespace) -> dict[str, float]:
    wrong = [count for count in args.ranks if count < 2]
    if wrong:
        raise UserError(f"--ranks {wrong[0]} is too small; a collective operation has two ranks or more")
    if args.calls < 1 or args.late < 0:
        raise UserError(f"--calls {args.calls} --late {args.late}: take one call or more, and 0 us or more")
    points = [(args.device, count, late, args.calls) for count in args.ranks for late in sorted({0, args.late})]
    found = dict(each(_point, points, place.Place.of(args)))
    return {
        f"collectives.{args.device}.{count}_ranks.{'late.' if late else ''}{name}": value
        for device, count, late, calls in points
        for name, value in found[device, count, late, calls].items()
    }
