"""(c) Latency and overhead against the number of posted receives and of unexpected messages,
matched by the NIC or by the host."""

from collections.abc import Sequence

from ..benches.p2p.pair import Buffer, Side, play
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

DEPTHS = (0, 1, 2, 4, 8, 16, 24, 32, 64, 128, 256)
QUICK = (0, 8, 32)
OTHER = 1000  # tags of messages that only stand in the way
LAST = 1
SETTLE = 50_000_000_000  # picoseconds after which all messages have got as far as they can


def points(quick: bool) -> list[Point]:
    return grid(queue=("posted", "unexpected"), matching=("nic", "host"), depth=QUICK if quick else DEPTHS)


def measure(point: Point) -> Figures:
    chosen = setting(host={"host_matching": point["matching"] == "host"})
    depth: int = point["depth"]
    program = {"posted": behind_posted, "unexpected": behind_unexpected}[point["queue"]]

    def run(side: Side) -> Figures:
        return program(side, depth)

    sent, received = play(chosen, run)
    return {
        "latency_us": (received["end"] - sent["begin"]) / 1e6,
        "send_us": (sent["end"] - sent["begin"]) / 1e6,
        "receive_us": received["posted"] / 1e6,
    }


def behind_posted(side: Side, depth: int) -> Figures:
    """A message for the last of `depth` + 1 posted receives, which wait for other tags."""
    buffers = [Buffer(4) for _ in range(depth)]
    if side.rank:
        posted = [side.receive(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)]
        result = take(side)
        side.meet()
        side.finish(*posted)
        return result
    result = give(side)
    side.meet()
    side.finish(*[side.send(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)])
    return result


def behind_unexpected(side: Side, depth: int) -> Figures:
    """A message for a posted receive, while `depth` others lie there that no receive has asked
    for."""
    buffers = [Buffer(4) for _ in range(depth)]
    if side.rank:
        side.meet()
        side.compute(SETTLE)
        result = take(side)
        side.meet()
        side.finish(*[side.receive(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)])
        return result
    sent = [side.send(buffer, tag=OTHER + number) for number, buffer in enumerate(buffers)]
    side.meet()
    side.compute(SETTLE)
    result = give(side)
    side.meet()
    side.finish(*sent)
    return result


def take(side: Side) -> Figures:
    """Post a receive and wait for its message: how long posting took, and when it was there."""
    buffer = Buffer(4)
    began = side.now
    operation = side.receive(buffer, tag=LAST)
    posted = side.now - began
    side.meet()
    side.finish(operation)
    return {"posted": posted, "end": side.now}


def give(side: Side) -> Figures:
    """Send that message, some time after the receiver has begun to wait."""
    side.meet()
    side.pause()
    buffer, began = Buffer(4), side.now
    operation = side.send(buffer, tag=LAST)
    end = side.now
    side.finish(operation)
    return {"begin": began, "end": end}


def conclude(rows: Sequence[Row]) -> Conclusion:
    curves = {
        (queue, matching): line(rows, "depth", "latency_us", queue=queue, matching=matching)
        for queue in ("posted", "unexpected")
        for matching in ("nic", "host")
    }
    figures: Figures = {}
    for (queue, matching), curve in curves.items():
        for depth, value in curve.items():
            figures[f"sweep.queues.latency_us.{queue}.{matching}.{depth:g}"] = value
    within = {depth: value for depth, value in curves["posted", "nic"].items() if depth <= 32}
    deepest = max(within)
    figures["sweep.queues.us_per_posted_receive.nic"] = (within[deepest] - within[0]) / deepest
    worst = max(curves["posted", "nic"])
    lying, hosts = curves["unexpected", "nic"], curves["unexpected", "host"]
    few, many = max(depth for depth in lying if depth <= 8), max(lying)
    text = (
        "A posted receive that does not match costs the NIC "
        f"{figures['sweep.queues.us_per_posted_receive.nic']:.2f} us: behind "
        f"{deepest:g} of them 4 bytes "
        f"take {within[deepest]:.1f} us instead of {within[0]:.1f} us. Behind {worst:g} they take "
        f"{curves['posted', 'nic'][worst]:.1f} us, and with the "
        f"host matching {curves['posted', 'host'][worst]:.1f} us. Beside {few:g} unexpected messages a message "
        "for a posted receive takes "
        f"{lying[few]:.1f} us on the NIC and {hosts[few]:.1f} us with the host matching; beside {many:g}, "
        f"{lying[many]:.0f} us "
        f"and {hosts[many]:.0f} us: "
        "when half of a channel's 32 message slots are taken the driver moves the messages to the host one by "
        "one before it looks at "
        f"anything else, and beyond 32 the sender has to wait for that."
    )
    lines = {f"{queue}, {matching} matches": curve for (queue, matching), curve in curves.items()}
    plot = Plot(
        "4 bytes behind other receives and messages", "posted receives or unexpected messages", "us", lines, log="xy"
    )
    return Conclusion(figures, text, {"queues": plot})


SWEEP = Sweep("c", "queues", "Posted receives and unexpected messages", points, measure, conclude)
