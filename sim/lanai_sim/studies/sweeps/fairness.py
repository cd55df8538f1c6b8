"""(d) Fairness over many busy channels: one NIC to many, and many to one."""

from collections.abc import Sequence

from lanai_host.operation import Operation

from ...engines.base import Cable
from ...machine.fabric import Fabric
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


def points(quick: bool) -> list[Point]:
    return grid(pattern=PATTERNS, size=SIZES, peers=QUICK if quick else PEERS)


def switch(nics: int) -> Fabric:
    return Fabric("switch", nics, 1, PORTS, tuple(Cable(nic, 0, nics, nic) for nic in range(nics)))


def measure(point: Point) -> Figures:
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


def conclude(rows: Sequence[Row]) -> Conclusion:
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


SWEEP = Sweep("d", "fairness", "Many busy channels", points, measure, conclude)
