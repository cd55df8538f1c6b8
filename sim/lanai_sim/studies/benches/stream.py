"""A stream of messages from one rank to another in simulated time: its bandwidth when each message
leaves memory that was never sent from (cold), and when all leave one buffer that was (warm); by
blocking sends, and all at once by nonblocking ones.

The receives are posted first, and each buffer begins at a page. Beside that: `unaligned`, where the
first buffer begins one byte further, and `late`, where each receive is posted when the one before
is done.
"""

import argparse

from lanai_host.errors import UserError
from lanai_host.stacks import names, stack

from ...job.job import Job
from .. import ranks

NAME = "stream"
HELP = "bandwidth of a stream of messages, from memory that was sent from before and that was not"

PROGRAM = """
import json, mmap, sys
from mpi4py import MPI

SETTLED = 1e-4  # seconds in which all receives have been announced
world, kept = MPI.COMM_WORLD, []
size, count = map(int, sys.argv[2:])


def buffers(distinct, offset):
    memory = mmap.mmap(-1, offset + size * distinct)
    memory.write(bytes(offset + size * distinct))
    kept.append(memory)  # no address comes again
    parts = [memoryview(memory)[offset + at : offset + at + size] for at in range(0, size * distinct, size)]
    return [parts[n % distinct] for n in range(count)]


def send(parts, blocking):
    if blocking:
        for part in parts:
            world.Send(part, 1)
    else:
        MPI.Request.Waitall([world.Isend(part, 1) for part in parts])


def receive(parts, posted):
    MPI.Request.Waitall(posted)
    for part in parts[len(posted) :]:
        world.Recv(part, 0)


def stream(parts, blocking, late):
    posted = [world.Irecv(part, 0) for part in parts] if world.rank and not late else []
    world.Barrier()
    settled = MPI.Wtime() + SETTLED
    while MPI.Wtime() < settled:
        world.Iprobe(1 - world.rank, 1)
    begin = MPI.Wtime()
    if world.rank:
        receive(parts, posted)
    else:
        send(parts, blocking)
    ends = world.gather(MPI.Wtime())
    return 0 if world.rank else size * len(parts) / (max(ends) - begin) / 1e6


found = {}
for setting, offset, late in (("", 0, False), ("unaligned.", 1, False), ("late.", 0, True)):
    for way in ("blocking", "nonblocking"):
        found[f"{setting}cold.{way}_mb_per_s"] = stream(buffers(count, offset), way == "blocking", late)
        same = buffers(1, offset)
        stream(same[:1], True, late)
        found[f"{setting}warm.{way}_mb_per_s"] = stream(same, way == "blocking", late)
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="mbcf", help="what runs between the ranks (default: %(default)s)")
    parser.add_argument("--size", type=int, default=65536, metavar="BYTES", help="of a message (default: %(default)s)")
    parser.add_argument("--count", type=int, default=16, metavar="N", help="messages (default: %(default)s)")


def measure(device: str, size: int, count: int) -> dict[str, float]:
    """The figures of two ranks on two NICs."""
    if device not in names() or not stack(device).nics:
        raise UserError(f"--device {device!r} has no NICs to measure; see `lanai list devices`")
    return ranks.measure(PROGRAM, (size, count), Job((), 2, device))


def run(args: argparse.Namespace) -> dict[str, float]:
    for name in ("size", "count"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} {getattr(args, name)} measures nothing; take at least 1")
    found = measure(args.device, args.size, args.count)
    return {f"stream.{args.device}.{name}": value for name, value in found.items()}
