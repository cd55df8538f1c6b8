"""CPU time of a message between two ranks on NICs, by where it is spent: the engine, the rest of
the simulator, the ranks, the kernel."""

import argparse
import resource
import sys
import time
from collections.abc import Sequence

from lanai_host.errors import UserError

from ...engines.base import Engine, Event, Layout
from ...engines.rtl import RtlEngine
from ...job.config import RunConfig
from ...job.launcher import run as launch
from ...job.nic_world import NicWorld
from ...job.start import libmpi_environment

NAME = "message"
HELP = "CPU time of a message, by part: engine, simulator, ranks, kernel"

ROUNDS = 3  # the least of each part counts: other work on the machine only ever adds
PARTS = ("engine", "simulator", "ranks", "kernel")
PROGRAM = """
import mmap, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
data = memoryview(mmap.mmap(-1, max(1, int(sys.argv[2]))))[:int(sys.argv[2])]
for turn in range(int(sys.argv[1])):
    if world.rank == turn % 2:
        world.Send(data, 1 - world.rank)
    else:
        world.Recv(data, 1 - world.rank)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[4], help="bytes of a message (default: 4)")
    parser.add_argument("--messages", type=int, default=500, help="messages of a run (default: %(default)s)")


class TimedEngine(RtlEngine):
    """The same engine. `seconds` of CPU time were spent in `run`."""

    seconds = 0.0

    def run(self, limit: int) -> tuple[bool, Sequence[Event]]:
        before = time.thread_time()
        try:
            return super().run(limit)
        finally:
            self.seconds += time.thread_time() - before


class TimedWorld(NicWorld):
    """NICs whose engine's CPU time is taken. `spent` and `entries` are of the world that was closed
    last."""

    spent = 0.0
    entries = 0

    def _new_engine(self, layout: Layout) -> Engine:
        self._timed = TimedEngine(layout, skip=self.config.skip, threads=self.config.threads)
        return self._timed

    def close(self) -> None:
        TimedWorld.spent, TimedWorld.entries = self._timed.seconds, self._timed.entries
        super().close()


def cpu_seconds(messages: int, size: int) -> dict[str, float]:
    """Of one run with so many messages: CPU time by part, and how often the engine was entered."""
    environment = libmpi_environment()
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    before = [resource.getrusage(who) for who in whose]
    command = (sys.executable, "-c", PROGRAM, str(messages), str(size))
    result = launch(RunConfig(command, 2, "mpi-np", environment=environment), TimedWorld)
    if result.code:
        raise UserError(f"the run of {messages} messages ended with code {result.code}: {result.report}")
    used = [resource.getrusage(who) for who in whose]
    user, ranks = (now.ru_utime - then.ru_utime for now, then in zip(used, before, strict=True))
    return {
        "engine": TimedWorld.spent,
        "simulator": user - TimedWorld.spent,
        "ranks": ranks,
        "kernel": sum(now.ru_stime - then.ru_stime for now, then in zip(used, before, strict=True)),
        "entries": TimedWorld.entries,
    }


def measure(size: int, messages: int) -> dict[str, float]:
    """CPU time of one message, in microseconds by part: of runs with and without so many messages,
    the difference."""
    short, long = 2, 2 + messages
    cpu_seconds(short, size)  # builds what is not there yet
    rounds = [(cpu_seconds(short, size), cpu_seconds(long, size)) for _ in range(ROUNDS)]
    least = [{name: min(each[name] for each in runs) for name in runs[0]} for runs in zip(*rounds, strict=True)]
    one = {name: (least[1][name] - least[0][name]) / messages for name in least[0]}
    figures = {f"message.cpu_us.{size}.{name}": 1e6 * one[name] for name in PARTS}
    figures[f"message.cpu_us.{size}"] = 1e6 * sum(one[name] for name in PARTS)
    figures[f"message.cpu_us.{size}.outside"] = 1e6 * sum(one[name] for name in PARTS[1:])
    figures[f"message.entries.{size}"] = one["entries"]
    return figures


def run(args: argparse.Namespace) -> dict[str, float]:
    wrong = [size for size in args.sizes if size < 0]
    if wrong or args.messages < 1:
        flag, value = ("--sizes", wrong[0]) if wrong else ("--messages", args.messages)
        raise UserError(f"{flag} {value} is too small; messages have 0 bytes or more, and there is at least one")
    figures: dict[str, float] = {}
    for size in args.sizes:
        figures |= measure(size, args.messages)
    return figures
