"""CPU time of a message between two ranks on NICs, by where it is spent: the engine, the rest of
the simulator, the ranks, the kernel. And what no other work on the machine changes: slots, calls of Python functions,
requests."""

import argparse
import ctypes
import mmap
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import quantiles
from typing import NamedTuple

from lanai_host.errors import UserError
from lanai_host.stacks import names as device_names

from ...engines.base import Calls, Engine, Event, Layout
from ...engines.rtl import RtlEngine
from ...job.data import JobData
from ...job.job import Job
from ...job.launcher import run as launch
from ...job.nic_world import NicWorld
from ...kernel.kernel import Kernel

NAME = "message"
HELP = "CPU time of a message, by part: engine, simulator, ranks, kernel"

DEVICE = "mpi-np"
RANKS = 2
ROUNDS = 3  # runs whose blocks are judged together: processes differ in where their memory lies
BLOCK = 50  # messages between two marks
WARM_UP = 1  # blocks of each run that do not count
CHEAPEST = 0.25  # the share of the blocks that counts: other work on the machine only ever adds
PARTS = ("engine", "simulator", "ranks", "kernel")
LOOPS = 200_000  # of the loop whose CPU time says how fast the machine is just then

COUNTED = 2  # blocks of the run that counts calls
# A mark is five numbers: a rank's user time, its system time, its calls of Python functions, its requests that the
# simulator answers, and 1 once all are there.
MARK = 5
PROGRAM = """
import array, mmap, resource, sys
from mpi4py import MPI
messages, block, mark, size, counts = map(int, sys.argv[2:])
calls = requests = 0
def count(frame, event, _):
    global calls, requests
    if event == "call":
        calls += 1
        requests += frame.f_code is asks
if counts:
    from lanai_host.simulator.client import SimulatorClient
    asks = SimulatorClient.call.__code__
    sys.setprofile(count)
with open(sys.argv[1], "r+b") as file:
    marks = memoryview(mmap.mmap(file.fileno(), 0)).cast("d")
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
data = memoryview(mmap.mmap(-1, max(1, size)))[:size]
for turn in range(messages + 1):
    if turn % block == 0:
        at = mark * (turn // block * ranks + rank)
        used = resource.getrusage(resource.RUSAGE_SELF)
        marks[at : at + mark] = array.array("d", (used.ru_utime, used.ru_stime, calls, requests, 1))
    if turn == messages:
        break
    if rank == turn % 2:
        world.Send(data, 1 - rank)
    else:
        world.Recv(data, 1 - rank)
"""


Slots = tuple[int, int, int]


class Cost(NamedTuple):
    """CPU seconds by part, how often the engine was entered, and counts: up to some moment, or of one message.

    Members:
        slots: that passed on a NIC.
        evaluated: slots of all NICs and switches that were not left out.
        processor: those of them in which a NIC's processor worked outside its model.
        calls, requests: of both ranks.
    """

    engine: float
    simulator: float
    ranks: float
    kernel: float
    entries: float
    slots: float = 0
    evaluated: float = 0
    processor: float = 0
    calls: float = 0
    requests: float = 0

    @property
    def total(self) -> float:
        return self.engine + self.simulator + self.ranks + self.kernel

    @property
    def outside(self) -> float:
        """All but the engine."""
        return self.total - self.engine


class Meter:
    """CPU time of the simulator, read when a rank has reached the next mark.

    Args:
        marks: what the ranks write, `MARK` numbers a rank and mark.

    Members:
        engine: seconds spent in the engine so far.
        system: those of them that the kernel worked for it, which are counted as the engine's alone.
        entries: how often the engine was entered.
    """

    def __init__(self, marks: "memoryview[float]") -> None:
        self.engine = 0.0
        self.system = 0.0
        self.entries = 0
        self._marks = marks
        self._next = MARK - 1  # where rank 0 says that it has reached the next mark
        self._samples: list[tuple[float, int, float, float, Slots]] = []

    @property
    def mark(self) -> int:
        """The address of the number that rank 0 writes at the next mark; 0 once there is none."""
        if self._next >= len(self._marks):
            return 0
        return ctypes.addressof(ctypes.c_double.from_buffer(self._marks, self._next * self._marks.itemsize))

    @property
    def marked(self) -> bool:
        """Rank 0 has reached the next mark."""
        return self._next < len(self._marks) and self._marks[self._next] != 0

    def look(self, slots: Callable[[], Slots] = lambda: (0, 0, 0)) -> None:
        """Take a sample if rank 0 has reached the next mark. `slots` counts those of `Cost`."""
        if self.marked:
            self._next += MARK * RANKS
            used = resource.getrusage(resource.RUSAGE_SELF)
            user, system = used.ru_utime + self.system, used.ru_stime - self.system
            self._samples.append((self.engine, self.entries, user, system, slots()))

    def costs(self) -> list[Cost]:
        """Return the CPU time up to each mark."""
        found = []
        for number, (engine, entries, user, system, slots) in enumerate(self._samples):
            first = MARK * RANKS * number
            ranks = self._marks[first : first + MARK * RANKS]
            used, kernel, *counts, _ = (sum(ranks[place::MARK]) for place in range(MARK))
            found.append(Cost(engine, user - engine, used, system + kernel, entries, *slots, *counts))
        return found


class TimedEngine(RtlEngine):
    """An RTL engine that reports its CPU time to a meter."""

    meter: Meter

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        meter, marked = self.meter, self.meter.marked
        meter.entries += 1
        before, system = time.thread_time(), resource.getrusage(resource.RUSAGE_THREAD).ru_stime
        try:
            return super().run(limit)
        finally:
            meter.engine += time.thread_time() - before
            meter.system += resource.getrusage(resource.RUSAGE_THREAD).ru_stime - system
            if marked:
                meter.look(self._slots)

    def calls(self) -> Calls | None:
        found = super().calls()
        return None if found is None else found._replace(mark=self.meter.mark)

    def timed(self, seconds: float, system: float, entries: int, marked: bool) -> int:
        meter = self.meter
        meter.engine += seconds
        meter.system += system
        meter.entries += entries
        if marked:
            meter.look(self._slots)
        return meter.mark

    def _slots(self) -> Slots:
        nics, units = range(self.layout.nics), range(self.layout.nics + self.layout.switches)
        return self.slot(0), sum(map(self.evaluated, units)), sum(map(self.outside, nics))


class TimedWorld(NicWorld):
    """NICs whose engine has a meter."""

    def __init__(self, config: JobData, kernel: Kernel, *, meter: Meter) -> None:
        self._meter = meter
        super().__init__(config, kernel)

    def _new_engine(self, layout: Layout) -> Engine:
        engine = TimedEngine(layout, skip=self.config.skip, threads=self.config.threads)
        engine.meter = self._meter
        return engine


def blocks(messages: int, size: int, device: str = DEVICE, counts: bool = False) -> list[Cost]:
    """Return the cost of a message on `device`, in each block of one run. Start and end of the run
    are in none of them. `counts` counts calls and requests, which takes CPU time."""
    count = messages // BLOCK + WARM_UP
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(8 * MARK * RANKS * (count + 1))
        meter = Meter(memoryview(mmap.mmap(file.fileno(), 0)).cast("d"))
        numbers = (count * BLOCK, BLOCK, MARK, size, counts)
        command = (sys.executable, "-c", PROGRAM, file.name, *(str(int(number)) for number in numbers))
        result = launch(Job(command, RANKS, device), partial(TimedWorld, meter=meter))
    if result.code:
        raise UserError(f"the run of {messages} messages ended with code {result.code}: {result.report}")
    costs = meter.costs()[WARM_UP:]
    return [
        Cost(*((now - then) / BLOCK for now, then in zip(end, begin, strict=True))) for begin, end in pairwise(costs)
    ]


def cheapest(found: Sequence[Cost]) -> Cost:
    """The mean of those blocks that took the least CPU time in all, so that its parts make the
    whole.

    How much of its CPU time a process spent in the kernel is known from ticks, a few in one block.
    What is outside the engine is therefore divided as in all blocks together."""
    best = sorted(found, key=lambda cost: cost.total)[: max(1, round(CHEAPEST * len(found)))]
    mean = Cost(*(sum(part) / len(best) for part in zip(*best, strict=True)))
    scale = mean.outside / sum(cost.outside for cost in found)
    simulator, ranks, kernel = (
        scale * sum(getattr(cost, part) for cost in found) for part in ("simulator", "ranks", "kernel")
    )
    return Cost(mean.engine, simulator, ranks, kernel, mean.entries)


def spread(found: Sequence[Cost]) -> float:
    """Return how far the blocks differ: the distance of their quartiles over the median; 0 for one block."""
    if len(found) < 2:
        return 0.0
    low, middle, high = quantiles([cost.total for cost in found], method="inclusive")
    return (high - low) / middle


def reference() -> float:
    """CPU seconds of a loop that does nothing. Other work on the same core slows it as it slows a
    message: divide by it to compare what was measured under different load."""
    started = time.thread_time()
    for _ in range(LOOPS):
        pass
    return time.thread_time() - started


def counted(size: int, device: str = DEVICE) -> dict[str, float]:
    """Return what of one message on `device` does not depend on the machine: slots of the NICs, by `Cost`; calls of
    Python functions and requests of a rank."""
    found = blocks((COUNTED + 1) * BLOCK, size, device, counts=True)[:-1]  # the last one has the end of the run
    mean = Cost(*(sum(part) / len(found) for part in zip(*found, strict=True)))
    figures = {f"message.{name}.{size}": getattr(mean, name) for name in ("slots", "evaluated", "processor")}
    return figures | {f"message.{name}.{size}": getattr(mean, name) / RANKS for name in ("calls", "requests")}


def measure(size: int, messages: int, device: str = DEVICE) -> dict[str, float]:
    """Return the CPU time of one message on `device`, in microseconds by part, and what `counted` does."""
    found, loops = [], [reference()]
    for _ in range(ROUNDS):
        found += blocks(messages, size, device)
        loops.append(reference())
    one = cheapest(found)
    figures = {f"message.cpu_us.{size}.{name}": 1e6 * getattr(one, name) for name in PARTS}
    figures[f"message.cpu_us.{size}"] = 1e6 * one.total
    figures[f"message.cpu_us.{size}.outside"] = 1e6 * one.outside
    figures[f"message.entries.{size}"] = one.entries
    figures[f"message.spread.{size}"] = spread(found)
    figures["message.reference_us"] = 1e6 * min(loops)
    return figures | counted(size, device)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    nics = [name for name in device_names() if name != "ideal"]
    parser.add_argument(
        "--device", default=DEVICE, choices=nics, help="the messaging system below MPI (default: %(default)s)"
    )
    parser.add_argument(
        "--bytes", type=int, nargs="+", default=[4], dest="sizes", help="bytes of a message (default: 4)"
    )
    parser.add_argument(
        "--messages", type=int, default=1000, help=f"messages of a run, in blocks of {BLOCK} (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> dict[str, float]:
    wrong = [size for size in args.sizes if size < 0]
    if wrong:
        raise UserError(f"--bytes {wrong[0]} is too small; messages have 0 bytes or more")
    if args.messages < BLOCK:
        raise UserError(f"--messages {args.messages} is too small; CPU time is taken in blocks of {BLOCK} messages")
    figures: dict[str, float] = {}
    for size in args.sizes:
        figures |= measure(size, args.messages, args.device)
    return figures
