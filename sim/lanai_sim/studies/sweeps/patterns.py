"""Transfers: fairness over many channels, overlap with computing, and windows against messages."""

from collections.abc import Sequence

from lanai_host.operation import Operation

from ...engines.base import Cable
from ...job.job import Job
from ...machine.fabric import Fabric
from .. import ranks
from ..benches.p2p.pair import Buffer, Side, play
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

SIZES = (64, 4096, 16384)
PEERS = (2, 4, 8, 12)
QUICK = (2, 4)
PORTS = 16  # of the one switch, however many NICs there are: one engine is built for all points
MESSAGES = 16  # a channel
PATTERNS = ("out", "turns", "in")  # "turns": out, but posted one to each peer, then the next one to each


Times = dict[int, list[int]]  # by peer: when each of its messages had arrived


def fairness_points(quick: bool) -> list[Point]:
    return grid(pattern=PATTERNS, size=SIZES, peers=QUICK if quick else PEERS)


def switch(nics: int) -> Fabric:
    return Fabric("switch", nics, 1, PORTS, tuple(Cable(nic, 0, nics, nic) for nic in range(nics)))


def measure_fairness(point: Point) -> Figures:
    """Rank 0 has one busy channel to each other rank. It posts all messages of the first, then all
    of the second, ...: as unfair as can be; with "turns" the first message of each, then the second
    of each."""
    size, peers, out = point["size"], point["peers"], point["pattern"] != "in"

    def hub(side: Side) -> Times:
        waiting: list[tuple[int, Operation]] = []
        buffers = {peer: [Buffer(size) for _ in range(MESSAGES)] for peer in range(1, peers + 1)}
        times: Times = {peer: [] for peer in range(1, peers + 1)}
        order = [(peer, number) for peer in times for number in range(MESSAGES)]
        if point["pattern"] == "turns":
            order.sort(key=lambda place: place[1])
        for peer, number in order:
            buffer = buffers[peer][number]
            waiting.append((peer, (side.send(buffer, peer) if out else side.receive(buffer, peer))))
        side.meet()
        while waiting:
            side.first(*[operation for _, operation in waiting])
            for peer, operation in waiting:
                if operation.done:
                    times[peer].append(side.now)
            waiting = [(peer, operation) for peer, operation in waiting if not operation.done]
        return times

    def spoke(side: Side) -> Times:
        buffers = [Buffer(size) for _ in range(MESSAGES)]
        operations = [side.receive(buffer, 0) for buffer in buffers] if out else []
        side.meet()
        operations += [] if out else [side.send(buffer, 0) for buffer in buffers]
        times = []
        for operation in operations:
            side.finish(operation)
            times.append(side.now)
        return {side.rank: times}

    def run(side: Side) -> Times:
        return spoke(side) if side.rank else hub(side)

    hubs, *spokes = play(setting(), run, switch(peers + 1))
    arrivals = [times for one in spokes for times in one.values()] if out else list(hubs.values())
    return figures_of(arrivals, size)


def figures_of(times: Sequence[Sequence[int]], size: int) -> Figures:
    """Jain's index of what each channel had got through when the first was done: 1 is fair,
    1/channels is one taking all."""
    first = min(max(times_of_one) for times_of_one in times)
    through = [sum(time <= first for time in times_of_one) for times_of_one in times]
    last = max(max(times_of_one) for times_of_one in times)
    begin = min(min(times_of_one) for times_of_one in times)
    moved = size * (sum(len(one) for one in times) - 1)
    jain = sum(through) ** 2 / (len(through) * sum(count * count for count in through))
    return {
        "jain": jain,
        "least_share": min(through) / max(through),
        "rate_MBps": moved / ((last - begin) / 1e6) if last > begin else 0.0,
    }


def conclude_fairness(rows: Sequence[Row]) -> Conclusion:
    curves = {
        (pattern, size): line(rows, "peers", "jain", pattern=pattern, size=size)
        for pattern in PATTERNS
        for size in SIZES
    }
    figures = {
        f"sweep.fairness.jain.{pattern}.{size}.{peers:g}": value
        for (pattern, size), curve in curves.items()
        for peers, value in curve.items()
    }
    most = max(curves["in", SIZES[0]])
    coming, going, turns = (
        [f"{curves[pattern, size][most]:.2f}" for size in SIZES] for pattern in ("in", "out", "turns")
    )
    text = (
        f"{most:g} channels, {MESSAGES} messages each: Jain's index of what the channels have got through when "
        "the first is done is "
        f"{', '.join(coming)} for messages of {', '.join(map(str, SIZES))} bytes that come in from {most:g} "
        "NICs (1 is fair, "
        f"{1 / most:.2f} one channel "
        "taking all): the switch and the receiver serve all alike. Of messages going out it is "
        f"{', '.join(going)}: all of one peer's were "
        "posted before any of the next, and what has credit leaves as it is posted, so the NIC keeps the "
        "program's own order. Posted by turns, one "
        f"to each peer and then the next to each, they give {', '.join(turns)}. The ready ring's turns show "
        "where sends must wait for "
        f"their receivers, above the eager limit of 4096 bytes."
    )
    lines = {f"{pattern}, {size} bytes": curve for (pattern, size), curve in curves.items()}
    plot = Plot("Fairness over busy channels", "channels of one NIC", "Jain's index", lines)
    return Conclusion(figures, text, {"fairness": plot})


FAIRNESS = Sweep("d", "fairness", "Many busy channels", fairness_points, measure_fairness, conclude_fairness)


# (e) Overlap: how much of a computation is hidden behind a transfer, by size, on the sending and the receiving side.


OVERLAP_SIZES = (64, 1024, 4096, 16384, 65536, 262144, 1048576)
OVERLAP_QUICK = (1024, 16384, 262144)


def overlap_points(quick: bool) -> list[Point]:
    return grid(side=("send", "receive"), matching=("nic", "host"), size=OVERLAP_QUICK if quick else OVERLAP_SIZES)


def measure_overlap(point: Point) -> Figures:
    """Percent of a computation as long as the transfer that costs the transferring rank no time."""
    chosen = setting(host={"host_matching": point["matching"] == "host"})
    size: int = point["size"]
    watched = int(point["side"] == "receive")

    def run(side: Side) -> Figures:
        buffer, work = Buffer(size), 0
        spans = []
        for number in range(3):  # the first one pins, the second is the transfer alone, the third has company
            side.meet()
            began = side.now
            operation = side.receive(buffer) if side.rank else side.send(buffer)
            if number == 2 and side.rank == watched:
                side.compute(work)
            side.finish(operation)
            spans.append(side.now - began)
            work = spans[-1]
        alone, both = spans[1], spans[2]
        return {"alone_us": alone / 1e6, "both_us": both / 1e6, "hidden_percent": 100 * (2 * alone - both) / alone}

    figures: Figures = play(chosen, run)[watched]
    return figures


def conclude_overlap(rows: Sequence[Row]) -> Conclusion:
    curves = {
        (side, matching): line(rows, "size", "hidden_percent", side=side, matching=matching)
        for side in ("send", "receive")
        for matching in ("nic", "host")
    }
    figures = {
        f"sweep.overlap.hidden_percent.{side}.{matching}.{size:.0f}": value
        for (side, matching), curve in curves.items()
        for size, value in curve.items()
    }
    largest = max(curves["receive", "nic"])
    text = (
        f"A rank that computes for as long as a transfer of {largest:,.0f} bytes takes hides "
        f"{curves['send', 'nic'][largest]:.0f} "
        f"% of it while sending and "
        f"{curves['receive', 'nic'][largest]:.0f} % while receiving, since the NIC needs nothing more from it. "
        "With the host "
        f"matching, a receiver hides "
        f"{curves['receive', 'host'][largest]:.0f} %: the transfer cannot begin before the host looks."
    )
    lines = {f"{side}, {matching} matches": curve for (side, matching), curve in curves.items()}
    plot = Plot("Computation hidden behind a transfer", "bytes", "% of the computation", lines, log="x")
    return Conclusion(figures, text, {"overlap": plot})


OVERLAP = Sweep("e", "overlap", "Computation behind transfers", overlap_points, measure_overlap, conclude_overlap)


# (h) What registering a window's memory gains over emulating remote access by messages (SC-19 to SC-22).


MEMORY = {"allocated": "register", "registered": "register", "emulated": "emulate"}  # with the option `private`
WINDOWS_SIZES = (8, 64, 1024, 8192)
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


def windows_points(quick: bool) -> list[Point]:
    return grid(memory=list(MEMORY), size=WINDOWS_SIZES[:3:2] if quick else WINDOWS_SIZES)


def measure_windows(point: Point) -> Figures:
    """An access and the fence that ends it."""
    memory = point["memory"]
    job = Job((), 2, "sci", options={"private": MEMORY[memory]})
    return ranks.measure(PROGRAM, (ROUNDS, point["size"], int(memory == "allocated")), job)


def conclude_windows(rows: Sequence[Row]) -> Conclusion:
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


WINDOWS = Sweep(
    "h", "windows", "Registered windows beside emulated ones", windows_points, measure_windows, conclude_windows
)
