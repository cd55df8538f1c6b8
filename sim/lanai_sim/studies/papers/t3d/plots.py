"""The paper's figures drawn again. It prints no latency (T3-G2)."""

from collections.abc import Mapping

from ...benches.p2p.plots import by_size
from ...drawing import Plot

Figures = Mapping[str, float]
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
