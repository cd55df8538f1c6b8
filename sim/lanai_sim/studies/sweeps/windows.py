"""(h) What registering a window's memory gains over emulating remote access by messages (SC-19 to
SC-22)."""

from collections.abc import Sequence

from ...job.job import Job
from .. import ranks
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line

MEMORY = {"allocated": "register", "registered": "register", "emulated": "emulate"}  # with the option `private`
SIZES = (8, 64, 1024, 8192)
ROUNDS = 4

PROGRAM = """
import json, mmap, sys
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rounds, size, allocated = map(int, sys.argv[2:])
memory = mmap.mmap(-1, size)
window = MPI.Win.Allocate(size, 1, comm=world) if allocated else MPI.Win.Create(memory, 1, comm=world)
mine, found = np.zeros(size, "u1"), {}
for name, call in (("put_us", window.Put), ("get_us", window.Get)):
    spans = []
    for _ in range(rounds):
        window.Fence()
        begin = MPI.Wtime()
        if world.rank == 0:
            call(mine, 1)
        window.Fence()
        spans.append(MPI.Wtime() - begin)
    found[name] = 1e6 * min(spans)
window.Free()
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""


def points(quick: bool) -> list[Point]:
    return grid(memory=list(MEMORY), size=SIZES[:3:2] if quick else SIZES)


def measure(point: Point) -> Figures:
    """An access and the fence that ends it."""
    memory = point["memory"]
    job = Job((), 2, "sci", options={"private": MEMORY[memory]})
    return ranks.measure(PROGRAM, (ROUNDS, point["size"], int(memory == "allocated")), job)


def conclude(rows: Sequence[Row]) -> Conclusion:
    times = {
        (what, memory): line(rows, "size", f"{what}_us", memory=memory) for what in ("put", "get") for memory in MEMORY
    }
    figures = {
        f"sweep.windows.{what}.{memory}.{size:.0f}_us": value
        for (what, memory), curve in times.items()
        for size, value in curve.items()
    }
    small, large = min(times["put", "registered"]), max(times["put", "registered"])

    def gain(what: str, size: float) -> float:
        return times[what, "emulated"][size] / times[what, "registered"][size]

    text = (
        f"With the fence that ends it, a put of {small:.0f} bytes takes {times['put', 'allocated'][small]:.1f} us in "
        f"memory of the library's, {times['put', 'registered'][small]:.1f} us in registered memory of the program's "
        f"and {times['put', 'emulated'][small]:.1f} us if messages emulate it. Registering makes puts "
        f"{gain('put', small):.2f} and {gain('put', large):.2f} times as fast at {small:.0f} and at {large:,.0f} "
        f"bytes, gets {gain('get', small):.2f} and {gain('get', large):.2f} times."
    )
    plots = {
        f"windows-{what}": Plot(
            f"{what.capitalize()} and fence",
            "bytes",
            "us",
            {memory: times[what, memory] for memory in MEMORY},
            log="xy",
        )
        for what in ("put", "get")
    }
    return Conclusion(figures, text, plots)


SWEEP = Sweep("h", "windows", "Registered windows beside emulated ones", points, measure, conclude)
