"""The thesis's figures drawn again: its policies beside the project's defaults and its first
version."""

from collections.abc import Mapping
from dataclasses import replace

from ...benches.p2p import plots
from ...benches.p2p.plots import STAGES, by_size
from ...drawing import Plot

Figures = Mapping[str, float]
SMALL = 1024
LATENCY, NIC_SHARE = 68, 0.75  # of 4 bytes, in the thesis: microseconds, and the NICs' share of them
SLOWDOWN = "fig4-6-slowdown"
BESIDE_DMA = {"thesis, one edge": {100.0: 1 / 1.5}, "thesis, both edges": {100.0: 0.0}}  # all slots taken


def of(figures: Figures) -> dict[str, Plot]:
    """By file name, in the order of the thesis."""
    same = {
        "p2p." + name.split(".", 1)[1]: value
        for name, value in figures.items()
        if name.startswith(("ways.", "np.", "ours."))
    }
    drawn = plots.of(same)
    found = drawn | {
        "np51-cut-through": Plot(
            "Cut-through delivery (thesis section 3.6)",
            "bytes",
            "us one way",
            {
                "packets passed on as they come": by_size(figures, "cut.on.latency_us"),
                "whole packets": by_size(figures, "cut.off.latency_us"),
            },
            log="xy",
        ),
        "fig4-2-bandwidth": Plot(
            "One-way bandwidth (thesis fig. 4.2)",
            "bytes",
            "MB/s",
            {
                "the thesis's policies": by_size(figures, "thesis.bandwidth_MBps"),
                "first version": by_size(figures, "version.first.bandwidth_MBps"),
                "project's defaults": by_size(figures, "ours.bandwidth_MBps"),
                **_bip(figures, "bandwidth_MBps", 1 << 20),
            },
            marks={"thesis, peak": 70, "thesis, peak of the first version": 60},
            log="x",
        ),
        "fig4-3-send-overhead": Plot(
            "Host overhead of a send (thesis fig. 4.3)",
            "bytes",
            "us",
            {
                "pages pinned for each message": _upto(by_size(figures, "thesis.send_overhead_us"), 32768),
                "pages stay pinned": _upto(by_size(figures, "ours.send_overhead_us"), 32768),
                **_bip(figures, "send_overhead_us", 32768),
            },
            marks={"thesis, later interface": 4},
            log="x",
        ),
        "fig4-4-latency": Plot(
            "Latency of small messages (thesis fig. 4.4)",
            "bytes",
            "us",
            {
                "the thesis's policies": _upto(by_size(figures, "thesis.latency_us"), SMALL),
                "project's defaults": _upto(by_size(figures, "ours.latency_us"), SMALL),
                **_bip(figures, "latency_us", SMALL),
            },
            points={"thesis": {4.0: LATENCY}},
        ),
        "fig4-5-break-down": Plot("Where the time of 4 bytes goes (thesis fig. 4.5)", "us", "", bars=_stages(figures)),
    }
    if SLOWDOWN in drawn:
        found[SLOWDOWN] = replace(drawn[SLOWDOWN], points=BESIDE_DMA)
    return {name: plot for name, plot in found.items() if any(plot.lines.values()) or plot.bars}


def _stages(figures: Figures) -> dict[str, dict[str, float]]:
    """The parts of 4 bytes' latency; of the thesis's only the NICs' is known."""
    settings = {"defaults": "ours", "thesis's policies": "thesis"}
    found = {
        label: {name.replace("_", ", "): figures[f"{setting}.stage_us.{name}"] for name in STAGES}
        for label, setting in settings.items()
        if f"{setting}.stage_us.{STAGES[0]}" in figures
    }
    nics = NIC_SHARE * LATENCY
    return found | {"thesis": {"NICs together": nics, "the rest": LATENCY - nics}} if found else {}


def _bip(figures: Figures, name: str, most: float) -> dict[str, dict[float, float]]:
    """The same of BIP's firmware on these NICs, if it was measured."""
    found = _upto(by_size(figures, f"bip.{name}"), most)
    return {"bip, the thesis's hosts": found} if found else {}


def _upto(points: dict[float, float], most: float) -> dict[float, float]:
    return {size: value for size, value in points.items() if size <= most}
