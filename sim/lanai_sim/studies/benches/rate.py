"""Messages a second and the bandwidth of a stream between two ranks, in simulated time, on any device.

`messages`: 8 bytes at a time. The receives of a window of messages are posted before the sender may begin it.
By a named source and by ANY_SOURCE; behind receives that other messages will meet; beside messages that no receive has
asked for. Beside each rate stands the time of one way, half of the shortest round trip.

`stream`: 64 KiB at a time, when each message leaves memory that was never sent from (cold), and when all leave one
buffer that was (warm); by blocking sends, and all at once by nonblocking ones. The receives are posted first, and each
buffer begins at a page. Beside that: `unaligned`, where the first buffer begins one byte further, and `late`, where
each receive is posted when the one before is done.
"""

import argparse
from collections.abc import Sequence

from lanai_host.config import Queue
from lanai_host.errors import UserError
from lanai_host.stacks import names

from ...job.job import Job
from .. import ranks

NAME = "rate"
HELP = "messages a second, also behind others in queues; bandwidth of a stream"
PARTS = ("messages", "stream")

SMALL = 8  # bytes
WINDOW = 16
QUEUES = ((0, 0), (16, 0), (32, 0), (256, 0), (0, 256))  # receives in the way, messages that lie there

MESSAGES = """
import json, sys
from mpi4py import MPI

ROUNDS, IN_THE_WAY, LYING = 3, 1000, 2000
world = MPI.COMM_WORLD
rank, peer = world.rank, 1 - world.rank
size, window, *queues = map(int, sys.argv[2:])
data, answer = bytes(size), bytearray(1)
parts = [bytearray(size) for _ in range(window)]


def rate(source):
    # The first window is not timed.
    receives = [world.Irecv(one, source, 0) for one in parts] if rank else []
    world.Barrier()
    for number in range(ROUNDS + 1):
        if number == 1:
            begin = MPI.Wtime()
        if rank == 0:
            MPI.Request.Waitall([world.Isend(data, 1) for _ in parts])
            world.Recv(answer, 1, 1)
        else:
            MPI.Request.Waitall(receives)
            receives = [world.Irecv(one, source, 0) for one in parts] if number < ROUNDS else []
            world.Send(answer, 0, 1)
    return ROUNDS * window / (MPI.Wtime() - begin)


def one_way(source):
    spans = []
    for _ in range(ROUNDS + 1):
        receive = world.Irecv(parts[0], source, 0)
        world.Barrier()
        begin = MPI.Wtime()
        if rank == 0:
            world.Send(data, 1)
            receive.Wait()
        else:
            receive.Wait()
            world.Send(data, 0)
        spans.append(MPI.Wtime() - begin)
    return min(spans) / 2 * 1e6


def measure(name, posted, lying, source=peer):
    waiting = [world.Irecv(bytearray(size), peer, IN_THE_WAY + n) for n in range(posted)]
    sent = [world.Isend(data, peer, LYING + n) for n in range(lying)]
    settled = MPI.Wtime() + 2e-6 * lying
    while MPI.Wtime() < settled:
        world.Iprobe(peer, 1)
    found[f"{name}.one_way_us"], found[f"{name}.messages_per_s"] = one_way(source), rate(source)
    waiting += [world.Irecv(bytearray(size), peer, LYING + n) for n in range(lying)]
    sent += [world.Isend(data, peer, IN_THE_WAY + n) for n in range(posted)]
    MPI.Request.Waitall(waiting + sent)


found = {}
measure("any_source", 0, 0, MPI.ANY_SOURCE)
for posted, lying in zip(queues[::2], queues[1::2]):
    measure(f"beside_{lying}" if lying else f"behind_{posted}", posted, lying)
if rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""

STREAM = """
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
    parser.add_argument("--device", default="lanai2", choices=names(), help="messaging system (default: %(default)s)")
    parser.add_argument("--queue", choices=list(Queue), help="how hosts match (default: the hosts' own way)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to measure (default: both)")
    parser.add_argument(
        "--messages", type=int, default=WINDOW, metavar="N", help="short messages at a time (default: %(default)s)"
    )
    parser.add_argument("--size", type=int, default=65536, metavar="BYTES", help="of the stream (default: %(default)s)")
    parser.add_argument("--count", type=int, default=16, metavar="N", help="its messages (default: %(default)s)")


def messages(job: Job, window: int = WINDOW, queues: Sequence[tuple[int, int]] = QUEUES) -> dict[str, float]:
    """Messages a second and microseconds of one way, by what stands in the queues.

    Args:
        job: of two ranks, whose program is not looked at.
        queues: pairs of posted receives and unexpected messages.
    """
    return ranks.measure(MESSAGES, (SMALL, window, *(number for pair in queues for number in pair)), job)


def stream(job: Job, size: int, count: int) -> dict[str, float]:
    """The bandwidth of a stream, in MB/s."""
    return ranks.measure(STREAM, (size, count), job)


def run(args: argparse.Namespace) -> dict[str, float]:
    for name in ("messages", "size", "count"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} {getattr(args, name)} measures nothing; take at least 1")
    job = Job((), 2, args.device)
    if args.queue:
        job = job.but(host=job.machine.host.but(queue=Queue(args.queue)))
    found: dict[str, float] = {}
    if "messages" in args.parts:
        found |= {f"rate.{args.device}.{name}": value for name, value in messages(job, args.messages).items()}
    if "stream" in args.parts:
        figures = stream(job, args.size, args.count)
        found |= {f"stream.{args.device}.{name}": value for name, value in figures.items()}
    return found
