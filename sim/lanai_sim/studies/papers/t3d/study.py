"""The study of the T3D: what its claims' answers compute, and the paper's figures drawn again."""

from ...benches.p2p.plots import by_size
from ...drawing import Plot
from ..studies import study
from ..verdicts import Computed, Figures
from . import experiments


def plateau(figures: Figures) -> float:
    """Bandwidth of the longest message that was measured, of 1 MB or more."""
    sizes = [int(name.rsplit(".", 1)[1]) for name in figures if name.startswith("bandwidth_MBps.")]
    if not sizes or max(sizes) < 1_000_000:
        raise KeyError("bandwidth_MBps of 1 MB")
    return figures[f"bandwidth_MBps.{max(sizes)}"]


def _half_lines(figures: Figures) -> str:
    """Return what gets of half a line do to the ratio, if they were measured."""
    found = figures.get("half_lines.get_MBps")
    return f" make the ratio {figures['put_MBps'] / found:.2f}" if found else " are slower"


def _misaligned(figures: Figures) -> float:
    return figures["misaligned_us.100000"] / figures["aligned_us.100000"]


def _extension(figures: Figures) -> float:
    return figures["validation.extends.first_us"] - figures["validation.unchecked.first_us"]


def _check(figures: Figures) -> float:
    return figures["validation.extends.second_us"] - figures["validation.unchecked.second_us"]


COMPUTED: Computed = {
    "s2.put_vs_get": lambda f: f["put_MBps"] / f["get_MBps"],
    "s3_4.misaligned_penalty": lambda f: _misaligned(f) > 1.2,
    "s4.large_bandwidth": plateau,
    "s4.share_of_peak": lambda f: 100 * plateau(f) / f["put_MBps"],
    "s3_1.ready_no_gain": lambda f: abs(f["mode.ready"] / f["mode.standard"] - 1) < 0.02,
    "s5.flag_last": lambda f: f["version.status_last.completes"] == 1 and f["version.status_first.completes"] == 0,
    "s5.wait_progress": lambda f: f["version.queue.completes"] == 1 and f["version.late.completes"] == 0,
    "s3_3.validation_cost": lambda f: _extension(f) > 10 * max(_check(f), 0.1),
    "s6.t3e_fence": lambda f: f["t3e.fenced.wrong"] == 0 < f["t3e.bare.wrong"],
    "half_lines": _half_lines,
    "misaligned": _misaligned,
    "check": _check,
    "extension": _extension,
}


# The paper's figures drawn again. It prints no latency (T3-G2).


LEVEL = (100_000, 200_000)  # sizes at which the paper's text gives a bandwidth
LARGE = (1_000_000, 5_000_000)
START_US, RATE = 65, 107  # what the two bandwidths of the paper say together: T(n) = 65 us + n / 107


def of(figures: Figures) -> dict[str, Plot]:
    """By file name, in the order of the paper."""
    rates = by_size(figures, "bandwidth_MBps")
    medium = {size: rate for size, rate in rates.items() if size < 1_000_000}
    found = {
        "fig6-latency": Plot(
            "Small message latency (paper fig. 6)", "bytes", "us one way", {"here": by_size(figures, "latency_us")}
        ),
        "fig7-medium": Plot(
            "Medium message bandwidth (paper fig. 7)",
            "bytes",
            "MB/s",
            {"here": medium, "n / (65 us + n / 107 MB/s)": {size: size / (START_US + size / RATE) for size in medium}},
            points={"paper": dict.fromkeys(LEVEL, 100), "CRI/EPCC, in the paper": dict.fromkeys(LEVEL, 29)},
        ),
        "fig8-large": Plot(
            "Large message bandwidth (paper fig. 8)",
            "bytes",
            "MB/s",
            {"here": {size: rate for size, rate in rates.items() if size >= 1_000_000}},
            points={"paper": dict.fromkeys(LARGE, 107), "CRI/EPCC, in the paper": dict.fromkeys(LARGE, 30)},
        ),
    }
    return {name: plot for name, plot in found.items() if any(plot.lines.values())}


STUDY = study("t3d", experiments, COMPUTED, of)
