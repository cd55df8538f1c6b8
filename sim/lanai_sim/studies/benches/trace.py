"""The cost of tracing: processor time beside the same run without it, bytes of the file; and how much
of the work has a cause."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from ...job.job import Job
from ...job.result import Result
from ...trace import Trace
from ...trace.schema import State

NAME = "trace"
HELP = "tracing: its cost, and how much of what the NICs do has a known cause"

# Buffers at the start of a page: the NIC then takes as long in both runs.
PROGRAM = """
import mmap, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
for size in (4, 200, 3000, 60000):
    data = memoryview(mmap.mmap(-1, size))
    for _ in range(int(sys.argv[1])):
        if world.rank == 0:
            world.Send(data, 1)
            world.Recv(data, 1)
        else:
            world.Recv(data, 0)
            world.Send(data, 0)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=50, help="there and back, for each size (default: %(default)s)")


def timed(rounds: int, trace: str | None) -> tuple[float, Result]:
    """Seconds of processor time, of simulator and ranks together, so that other load does not
    affect it."""
    before = sum(os.times()[:4])
    command = (sys.executable, "-c", PROGRAM, str(rounds))
    result = Job(command, 2, "mpi-np", trace=trace).run()
    return sum(os.times()[:4]) - before, result


def run(args: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        for warm in (None, str(path)):  # the libraries are built
            timed(1, warm)
        plain, result = timed(args.rounds, None)
        traced, same = timed(args.rounds, str(path))
        trace = Trace.open(path)
        ran = trace.processor[trace.processor["state"] == State.RUN]
        ran = ran[trace.picoseconds(ran["begin"]) > trace.started]
        length = ran["end"] - ran["begin"]
        slots = sum(trace.outcome["slots"])
        return {
            "trace.changed_picoseconds": sum(abs(a - b) for a, b in zip(result.clocks, same.clocks, strict=True)),
            "trace.cpu_time_ratio": traced / plain,
            "trace.bytes_per_thousand_slots": 1000 * path.stat().st_size / slots,
            "trace.with_message.processor_time": float(length[ran["message"] >= 0].sum() / length.sum()),
            "trace.with_message.packets": float((trace.packets["message"] >= 0).mean()),
            "trace.with_message.transfers": float((trace.dma["message"] >= 0).mean()),
        }
