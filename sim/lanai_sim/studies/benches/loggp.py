"""The parameters of LogGP, fitted for systems of `lanai list systems`: latency L, overheads o of sender and
receiver, gap g between short messages, gap G of a byte. Beside them stand published ones of machines of the time, and
how far the fitted model is from what was measured."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from lanai_host.errors import UserError

from ...console import wide
from ...executors import place
from ...executors.workers import each
from ...job.job import Job
from ...job.systems import SYSTEMS, system
from ...report.tables import table

NAME = "loggp"
HELP = "fit the parameters of LogGP for any system, beside published ones"
DEFAULT = tuple(name for name, one in SYSTEMS.items() if name == one.device)
SHORT = 4  # bytes: of a short message
SIZES = (4, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536)
LONG = 4096  # bytes from which the gap of a byte is fitted on
COUNT = 32  # messages of a stream
NAMES = {"L": "latency_us", "os": "overhead_send_us", "or": "overhead_receive_us", "g": "gap_us", "G": "gap_ns_a_byte"}

PROGRAM = """
import json, mmap, sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, other = world.rank, 1 - world.rank
short, count, *sizes = map(int, sys.argv[1:])
memory = {size: np.frombuffer(mmap.mmap(-1, size), "u1") for size in {short, *sizes}}
micro = 1e6


def compute(seconds):
    end = MPI.Wtime() + seconds
    while MPI.Wtime() < end:
        pass


def one_way(size):
    spans = []
    for _ in range(3):
        world.Barrier()
        begin = MPI.Wtime()
        if rank == 0:
            world.Send(memory[size], other)
            world.Recv(memory[size], other)
        else:
            world.Recv(memory[size], other)
            world.Send(memory[size], other)
        spans.append(MPI.Wtime() - begin)
    return min(spans) / 2 * micro


def overhead():
    # Of a send whose receive is posted, and of posting a receive and of waiting for it when its message is there.
    spans = []
    for _ in range(3):
        if rank == 0:
            world.Barrier()
            compute(1e-3)
            begin = MPI.Wtime()
            world.Send(memory[short], other)
            spans.append(MPI.Wtime() - begin)
        else:
            begin = MPI.Wtime()
            wait = world.Irecv(memory[short], other)
            posted = MPI.Wtime() - begin
            world.Barrier()
            compute(5e-3)
            begin = MPI.Wtime()
            wait.Wait()
            spans.append(MPI.Wtime() - begin + posted)
        world.Barrier()
    return world.allgather(min(spans) * micro)


def gap():
    # Of a message in a stream, whose receives are posted.
    spans = []
    for _ in range(2):
        waits = [world.Irecv(np.empty(short, "u1"), other) for _ in range(count)] if rank else []
        world.Barrier()
        compute(1e-3)
        begin = MPI.Wtime()
        if rank == 0:
            waits = [world.Isend(memory[short], other) for _ in range(count)]
        marks = []
        for one in waits:
            one.Wait()
            marks.append(MPI.Wtime())
        spans.append((marks[-1] - marks[0]) / (count - 1))
        world.Barrier()
    return world.allgather(min(spans) * micro)


clock = MPI.Wtime()
clock = MPI.Wtime() - clock  # what reading it costs is in each span once
found = {str(size): one_way(size) for size in sizes}
(send, receive), gaps = overhead(), gap()
if rank == 0:
    found |= {"send": send - clock * micro, "receive": receive - 2 * clock * micro, "gap": max(gaps)}
    print(json.dumps(found))
"""


@dataclass(frozen=True)
class Published:
    """LogGP of a machine, in microseconds and nanoseconds a byte, with where it was published."""

    machine: str
    L: float
    o: float
    g: float
    G: float
    source: str


MARTIN = "Martin and others, ISCA 1997, table 1"
PUBLISHED = (
    Published("Berkeley NOW, GAM", 5.0, 2.9, 5.8, 1000 / 38, MARTIN),
    Published("Intel Paragon", 6.5, 1.8, 7.6, 1000 / 141, MARTIN),
    Published("Meiko CS-2", 7.5, 1.7, 13.6, 1000 / 47, MARTIN),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--systems", metavar="A,B,C", help=f"of `lanai list systems` (default: {','.join(DEFAULT)})")
    place.add_arguments(parser, "systems")


def measure(name: str) -> dict[str, float]:
    """Return what the program measured on a system: one way by size, and the rest by name."""
    words = ["python", "-c", PROGRAM, *map(str, (SHORT, COUNT, *SIZES))]
    found: dict[str, float] = json.loads(Job.on(name, words, 2, capture=True).run().check().outputs[0].stdout)
    return found


def fit(found: Mapping[str, float]) -> dict[str, float]:
    """Return the parameters, and how far the model is from the measured times of one way, in percent at the worst
    size and at the mean one. G is the least squares' slope of long messages; L is what is left of a short one."""
    times = {size: found[str(size)] for size in SIZES}
    long = [size for size in SIZES if size >= LONG]
    slope = float(np.polyfit(long, [times[size] for size in long], 1)[0])
    latency = times[SHORT] - found["send"] - found["receive"]
    fixed = latency + found["send"] + found["receive"]
    errors = [abs((fixed + (size - SHORT) * slope) / time - 1) * 100 for size, time in times.items()]
    return {
        "L": latency, "os": found["send"], "or": found["receive"], "g": found["gap"], "G": 1000 * slope,
        "worst": max(errors), "mean": float(np.mean(errors)),
    }  # fmt: skip


def chosen(text: str | None) -> list[str]:
    """Return the systems that are named."""
    names = list(DEFAULT) if text is None else list(dict.fromkeys(filter(None, text.split(","))))
    if not names:
        raise UserError(f"--systems {text!r} names none; write, for example: --systems ideal,mpi-np")
    for name in names:
        system(name)
    return names


def run(args: argparse.Namespace) -> dict[str, float]:
    names = chosen(args.systems)
    measured = dict(each(measure, names, place.Place.of(args)))
    fitted = {name: fit(measured[name]) for name in names}
    show(fitted, wide())
    figures: dict[str, float] = {}
    for name, values in fitted.items():
        figures |= {f"loggp.{name}.{NAMES[key]}": values[key] for key in NAMES}
        figures |= {f"loggp.{name}.error_percent.{key}": values[key] for key in ("worst", "mean")}
    return figures


def show(fitted: Mapping[str, Mapping[str, float]], console: Console) -> None:
    """Print the fitted parameters, and below them the published ones."""
    grid = table(
        "LogGP", ("", "L, us", "o send, us", "o receive, us", "g, us", "G, ns/byte", "model off at most, %", "from"), 1
    )
    for name, one in fitted.items():
        grid.add_row(name, *_numbers([one[key] for key in (*NAMES, "worst")]), "fitted here")
    for one_ in PUBLISHED:
        grid.add_row(one_.machine, *_numbers([one_.L, one_.o, one_.o, one_.g, one_.G]), "", one_.source)
    console.print(grid)


def _numbers(values: Sequence[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]
