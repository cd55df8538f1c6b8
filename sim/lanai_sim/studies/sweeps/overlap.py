"""(e) Overlap: how much of a computation is hidden behind a transfer, by size, on the sending and
the receiving side."""

from collections.abc import Sequence

from ..benches.p2p.pair import Buffer, Side, play
from ..drawing import Plot
from .point import Conclusion, Figures, Point, Row, Sweep, grid, line, setting

SIZES = (64, 1024, 4096, 16384, 65536, 262144, 1048576)
QUICK = (1024, 16384, 262144)


def points(quick: bool) -> list[Point]:
    return grid(side=("send", "receive"), matching=("nic", "host"), size=QUICK if quick else SIZES)


def measure(point: Point) -> Figures:
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


def conclude(rows: Sequence[Row]) -> Conclusion:
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


SWEEP = Sweep("e", "overlap", "Computation behind transfers", points, measure, conclude)
