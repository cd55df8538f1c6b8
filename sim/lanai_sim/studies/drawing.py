"""Plots for benches, papers and sweeps. They need no display. The same figures give the same file on
one machine. On another, places may differ in the last digit, as its linear algebra rounds otherwise."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lanai_firmware import output_file
from lanai_host.errors import UserError

FORMATS = (".svg", ".png", ".pdf")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
PUBLISHED = ("o", "s", "^", "D")
# The colours of the report's page (report/page/parts/page.css), the strongest first.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#7a4b1e", "#77839a")
MOST_TICKS = 10  # with more sizes, matplotlib chooses
TICK_GAP = 0.065  # of the plot's width, between two sizes that are both written
GAP = 0.06  # of the plot's height, between the names at the ends of two lines
MOST_NAMES, LONGEST_NAME = 6, 26  # of lines, and of letters: with more of them names stand below the plot
KEY_ROW = 0.16  # inches
MILLION = 1_000_000


@dataclass(frozen=True)
class Plot:
    """Lines over one axis, or stacked bars.

    Attributes:
        lines: name to {x: y}. An x that is a text stands at a place of its own, in the given order.
        points: the same, as published: drawn as marks that no line joins.
        bars: label to {part: height}, stacked; used instead of `lines`.
        marks: horizontal lines: name to height.
        log: which axes are logarithmic, "x", "y", "xy" or "".
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, Mapping[float, float] | Mapping[str, float]] = field(default_factory=dict)
    points: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    marks: Mapping[str, float] = field(default_factory=dict)
    log: str = ""

    @property
    def named(self) -> bool:
        """Do its lines go from one name to the next?"""
        return any(isinstance(x, str) for points in self.lines.values() for x in points)

    @property
    def names(self) -> int:
        """Return the number of lines and kinds of marks."""
        return len(self.lines) + len(self.points)

    @property
    def keyed(self) -> bool:
        """Do the names stand in a key below the plot, as they have no room in it or at the lines' ends?"""
        if self.bars or self.names == 1:
            return False
        longest = 0 if self.points else max(map(len, self.lines), default=0)
        return self.named or self.names > MOST_NAMES or longest > LONGEST_NAME

    def digest(self) -> str:
        """A hash of what is drawn, to nine digits. An SVG drawing carries it (`digest_of`)."""
        return hashlib.sha256(json.dumps(_rounded(asdict(self))).encode()).hexdigest()[:16]


def digest_of(drawing: str) -> str | None:
    """The digest of the plot that an SVG drawing shows, None if it has none."""
    found = re.search(r"<dc:identifier>(\w+)</dc:identifier>", drawing)
    return found and found[1]


def _rounded(value: Any) -> Any:
    """The same with each number as a text of nine digits, and with mappings as lists of pairs in their order."""
    if isinstance(value, Mapping):
        return [[_rounded(key), _rounded(content)] for key, content in value.items()]
    return f"{value:.9g}" if isinstance(value, int | float) else value


def available(path: str | Path | None = None) -> None:
    """Raises UserError if nothing can be drawn, or not to this file."""
    if path is not None and Path(path).suffix not in FORMATS:
        raise UserError(f"cannot draw to {str(path)!r}: its name must end in {', '.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401  # only whether it is there
    except ModuleNotFoundError as error:
        raise UserError("drawing needs matplotlib; install openlanai[plot]") from error


def folder(name: str | Path) -> Path:
    """A directory to draw into, made if it is not there."""
    available()
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the directory {str(name)!r}: {error.strerror}; name one that can be") from error
    return path


def draw(plot: Plot, path: Path) -> None:
    """Draw to a file; its ending says how: .svg, .png or .pdf."""
    available(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.rcsetup import cycler

    style: Any = {
        "svg.hashsalt": "openlanai",
        "svg.fonttype": "none",
        "font.size": 9,
        "xtick.labelsize": 8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.prop_cycle": cycler(color=COLOURS),
        "grid.alpha": 0.3,
    }
    with rc_context(style):
        rows = (plot.names + 1) // 2 if plot.keyed else 0
        figure = Figure(figsize=(6, 2.2 if plot.bars else 3.6 + KEY_ROW * rows), layout="constrained")
        axes = figure.subplots()
        _bars(axes, plot.bars) if plot.bars else _lines(axes, plot)
        for name, height in plot.marks.items():
            axes.axhline(height, linestyle="--", linewidth=1, color="0.4")
            axes.annotate(name, (0.01, height), xycoords=("axes fraction", "data"), va="bottom", color="0.3")
        axes.set_title(plot.title, fontsize=10)
        axes.set_xlabel(_unit(plot.x))
        axes.set_ylabel(_unit(plot.y))
        if plot.bars:
            figure.legend(loc="outside lower center", ncol=5, fontsize=8)
        elif plot.keyed:
            figure.legend(loc="outside lower center", ncol=2, fontsize=8)
        elif plot.points and plot.names > 1:
            axes.legend(fontsize=8)
        elif len(plot.lines) > 1:
            _name_at_ends(axes, plot.lines)
        kinds: dict[str, Any] = {
            ".svg": {"Date": None, "Creator": None, "Identifier": plot.digest()},
            ".pdf": {"CreationDate": None},
        }
        with output_file.replaced(path, "the drawing") as place:
            figure.savefig(place, metadata=kinds.get(path.suffix, {}))


def _lines(axes: Any, plot: Plot) -> None:
    for number, (name, points) in enumerate(plot.lines.items()):
        places: Sequence[Any] = list(points) if plot.named else sorted(points)
        axes.plot(places, [points[x] for x in places], marker=MARKS[number % len(MARKS)], markersize=4, label=name)
    for number, (name, points) in enumerate(plot.points.items()):
        look: dict[str, Any] = {"marker": PUBLISHED[number % len(PUBLISHED)], "markersize": 7, "color": "black"}
        axes.plot(list(points), list(points.values()), linestyle="", fillstyle="none", label=name, **look)
    everything = [*plot.lines.values(), *plot.points.values()]
    if "x" in plot.log:
        smallest = min((float(x) for points in everything for x in points), default=1.0)
        axes.set_xscale("log" if smallest > 0 else "symlog", base=2)
        sizes = sorted({x for points in everything for x in points})
        axes.xaxis.set_major_formatter(lambda x, _: _binary(x))
        if len(sizes) <= MOST_TICKS:
            axes.set_xticks(_apart(axes, sizes))
            axes.set_xticks([], minor=True)
    elif not plot.named:
        axes.xaxis.set_major_formatter(lambda x, _: _decimal(x))
        if all(float(x).is_integer() for points in everything for x in points):
            axes.xaxis.get_major_locator().set_params(integer=True)  # no 2.25 ranks
    if "y" in plot.log:
        axes.set_yscale("log")
    else:
        heights = [*plot.marks.values(), *(y for points in everything for y in points.values())]
        axes.set_ylim(1.1 * min([0, *heights]), 1.1 * max(heights, default=1))


def _name_at_ends(axes: Any, lines: Mapping[str, Mapping[float, float] | Mapping[str, float]]) -> None:
    """Write the name of each line beside its last point, where there is room."""
    axes.get_xlim(), axes.get_ylim()  # matplotlib finds the limits when it is asked for them
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = {name: float(to_axes.transform(max(points.items()))[1]) for name, points in lines.items() if points}
    most = 1.0
    for name, height in sorted(ends.items(), key=lambda one: -one[1]):
        place = min(height, most)
        colour = COLOURS[list(lines).index(name) % len(COLOURS)]
        axes.annotate(name, (1.01, place), xycoords="axes fraction", va="center", fontsize=8, color=colour)
        most = place - GAP


def _apart(axes: Any, sizes: Sequence[Any]) -> list[Any]:
    """Leave out sizes that would be written into each other."""
    axes.get_xlim()
    to_axes = axes.transData + axes.transAxes.inverted()
    found: list[Any] = []
    for size in sizes:
        if not found or to_axes.transform((size, 1))[0] - to_axes.transform((found[-1], 1))[0] >= TICK_GAP:
            found.append(size)
    return found


def _binary(number: float) -> str:
    """1024 as 1 Ki, but 1056 as 1,056."""
    for unit, size in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if number >= size and 4 * number % size == 0:
            return f"{number / size:g} {unit}"
    return _decimal(number)


def _decimal(number: float) -> str:
    """1000 as 1,000, and millions as such."""
    return f"{number:,.10g}" if abs(number) < MILLION else f"{number / MILLION:g} million"


def _unit(label: str) -> str:
    return re.sub(r"\bus\b", "µs", label)


def _bars(axes: Any, bars: Mapping[str, Mapping[str, float]]) -> None:
    parts = dict.fromkeys(part for heights in bars.values() for part in heights)
    bottom = dict.fromkeys(bars, 0.0)
    for part in parts:
        heights = [stack.get(part, 0.0) for stack in bars.values()]
        axes.barh(list(bars), heights, left=list(bottom.values()), label=part)
        bottom = {label: start + height for (label, start), height in zip(bottom.items(), heights, strict=True)}
