"""Round trip and bandwidth by size, with the thesis's numbers."""

from collections.abc import Mapping

from ...drawing import Plot
from ..claims import load
from .experiments import BANDWIDTH_SIZES, ROUND_TRIP_SIZES

Figures = Mapping[str, float]
NETWORKS = {"theirs": "100BASE-TX", "ours": "Myrinet"}


def of(figures: Figures) -> dict[str, Plot]:
    """By file name."""
    found = {
        "round_trip": Plot(
            "Round trip (table 4.1)", "bytes", "us", _curves(figures, "rtt"), _published("t4_1", "", ROUND_TRIP_SIZES),
            log="xy",
        ),
        "bandwidth": Plot(
            "Peak bandwidth (table 4.2)", "bytes", "MB/s",
            _curves(figures, "bandwidth") | _curves(figures, "half_duplex", ", half duplex"),
            _published("t4_2", "f", BANDWIDTH_SIZES) | _published("t4_2", "h", BANDWIDTH_SIZES, ", half duplex"),
            log="xy",
        ),
    }  # fmt: skip
    return {name: plot for name, plot in found.items() if any(plot.lines.values())}


def _curves(figures: Figures, what: str, more: str = "") -> dict[str, dict[float, float]]:
    curves: dict[str, dict[float, float]] = {}
    for name, value in figures.items():
        setting, kind, *rest = name.split(".")
        if kind == what:
            way, size = rest
            curves.setdefault(f"{way.upper()}, {NETWORKS[setting]}{more}", {})[float(size)] = value
    return curves


def _published(table: str, end: str, sizes: tuple[int, ...], more: str = "") -> dict[str, dict[float, float]]:
    """The numbers of a table, with requests and without."""
    values = {claim.id: claim.value for claim in load("mbcf")}
    return {
        f"{way.upper()}, in the thesis{more}": {
            float(size): value for size in sizes if (value := values[f"mbcf.{table}.{way}{end}.{size}"]) is not None
        }
        for way in ("sr", "nsr")
    }
