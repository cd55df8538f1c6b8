"""The study of MPI/MBCF: what its claims' answers compute, and the thesis's tables and curves."""

from collections.abc import Mapping, Sequence
from functools import partial

from ....machine.presets import mbcf_100baset
from ...drawing import Plot
from .. import verdicts
from ..claims import Claim, load
from ..page import Cell, Grid
from ..studies import study
from ..verdicts import NOT_YET, ByFigure, ByShape, Computed, Figures, Way
from . import experiments, npb_build, primitives, times
from .experiments import BANDWIDTH_SIZES, OUR_SIZES, PHASE_SIZE, ROUND_TRIP_SIZES
from .npb_build import ANY, FEWER, ON_FEWER, PROGRAMS
from .times import TABLES, WAYS

HOST = (
    "The kernel's prices are fitted on tables 2.1 and 2.2, the library's four on rows of this table; the adapter "
    "and the frames are simulated."
)
FITTED = "The kernel's six prices are fitted on rows of tables 2.1 and 2.2; adapter and frames are simulated."
SENDER = "The sender's price for a command and an answer decides; a hub costs their sender more than ours."
RECEIVER = "The receiver's price for a record decides."
WIRE = "The wire decides."
HUB = (
    "Answers share the wire with data, and collide with it: `--fabric csma`, Ethernet's back-off. Nothing is fitted on "
    "these rows."
)

WHY_NOT = {
    "t4_3": times.NO_NPB,
    "s4_3": "MPICH over TCP is not simulated.",
} | times.why_not()

RAW = (("t2_1.{}", "oneway", primitives.LATENCY_SIZES), ("t2_2.{}", "full", primitives.STREAM_SIZES),
       ("t2_2.{}h", "half", primitives.STREAM_SIZES))  # fmt: skip


def ways() -> Mapping[str, Way]:
    """Add the rows of tables by size, which share their words."""
    found: dict[str, Way] = {}
    for claims, figures, sizes in RAW:
        for kind in ("write", "fifo"):
            for size in sizes:
                small = figures != "oneway" and size <= 64
                figure = f"theirs.{figures}.{kind}.{size}"
                found[f"mbcf.{claims.format(kind)}.{size}"] = ByFigure(figure, SENDER if small else FITTED)
    for name in ("sr", "nsr"):
        for size in ROUND_TRIP_SIZES:
            figure = f"rtt.{name}.{size}"
            found[f"mbcf.t4_1.{name}.{size}"] = ByFigure(f"theirs.{figure}", HOST, f"ours.{figure}")
        for size in BANDWIDTH_SIZES:
            why = RECEIVER if size <= 1024 else WIRE
            figure = f"bandwidth.{name}.{size}"
            ours = f"ours.{figure}" if size in OUR_SIZES else ""
            found[f"mbcf.t4_2.{name}f.{size}"] = ByFigure(f"theirs.{figure}", why, ours)
            found[f"mbcf.t4_2.{name}h.{size}"] = ByFigure(f"theirs.half_duplex.{name}.{size}", HUB)
    found[f"mbcf.t4_2.nsrh.{PHASE_SIZE}"] = ByFigure(f"theirs.half_duplex.nsr.{PHASE_SIZE}", _phases)
    return found | verdicts.ways("mbcf", COMPUTED) | times.ways()


def _phases(figures: Figures) -> str:
    """With what comes out behind streams of other sizes."""
    found = [value for name, value in figures.items() if name.startswith(f"theirs.phases.nsr.{PHASE_SIZE}.")]
    if not found:
        return HUB
    spread = f"{min(found):.4g} to {max(found):.4g} MB/s"
    return (
        f"{HUB} How many collide depends on what was sent before: {spread} behind streams of other sizes, all of them "
        "more than the paper's."
    )


def _half(figures: Figures) -> list[float]:
    """Half duplex, NSR's bandwidth over SR's, of the sizes at which the paper has it higher."""
    sizes = [size for size in BANDWIDTH_SIZES if 16 <= size <= 1 << 18]
    return [figures[f"theirs.half_duplex.nsr.{size}"] / figures[f"theirs.half_duplex.sr.{size}"] for size in sizes]


def _mean(begin: str, figures: Figures) -> float:
    """Bytes of a message."""
    return figures[f"{begin}.bytes"] / figures[f"{begin}.messages"]


def _itself(figures: Figures, name: str) -> str:
    """Return the share that NPB's own program reached in each class and variant, as far as it was run."""
    begin, end = f"theirs.npb.{name}.", ".written_percent"
    found = {
        figure.removeprefix(begin).removesuffix(end): value
        for figure, value in figures.items()
        if figure.startswith(begin) and figure.endswith(end)
    }
    words = (f"{value:.2f} % {_words(which.split('.'))}" for which, value in sorted(found.items(), key=_place))
    return f"NPB's {name.upper()}: {'; '.join(words)}." if found else ""


def _place(one: tuple[str, float]) -> tuple[bool, str]:
    """Fewer ranks last, then by class."""
    return one[0].startswith(ON_FEWER), one[0][::-1]


def _words(which: Sequence[str]) -> str:
    """Return words for the parts of a figure's name: perhaps the ranks, perhaps the variant, the class."""
    return (
        f"in class {which[-1]}"
        + ", receives without sources" * (ANY in which)
        + f", on {FEWER} ranks" * (ON_FEWER in which)
    )


def _multigrid(figures: Figures) -> str:
    any_source, named = (
        f"{figures[f'theirs.kernel.{one}.written_percent']:.2f} % in {figures[f'theirs.kernel.{one}.ms']:.1f} ms"
        for one in ("mg", "mg_named")
    )
    return f"{any_source}; {named} if receives name their sources. {_itself(figures, 'mg')}".rstrip()


def why_not(claim: Claim) -> str:
    """The reason of a claim without a figure or a test; the longest beginning of its id that has a reason."""
    short = claim.id.removeprefix("mbcf.")
    fitting = [begin for begin in WHY_NOT if short.startswith(begin)]
    return WHY_NOT[max(fitting, key=len)] if fitting else NOT_YET


def _shares(figures: Figures) -> list[float]:
    return [figures[f"theirs.rtt.sr.{size}"] / figures[f"theirs.rtt.nsr.{size}"] for size in ROUND_TRIP_SIZES]


def _streams(figures: Figures) -> float:
    return figures["theirs.bandwidth.sr.1024"] / figures["theirs.bandwidth.nsr.1024"]


LINK = mbcf_100baset().link_kbytes / 1000
LU = f"lu.{ANY}.W"  # whose receives name no source, as in the paper's version of it
MEANS = {"cg": "cg.W", "lu": LU, "sp": "sp.W", "bt": "bt.W"}  # programs for whose messages the thesis has a mean size
COMPUTED: Computed = {
    "s4_2.requests_help": lambda f: all(share < 1 for share in _shares(f)),
    "least_share": lambda f: min(_shares(f)),
    "most_share": lambda f: max(_shares(f)),
    "s4_2.no_requests_in_streams": lambda f: 0.8 < _streams(f) < 1.25,
    "streams": _streams,
    "s4_2.nsr_better_half": lambda f: min(_half(f)) >= 1,
    "least_half": lambda f: min(_half(f)),
    "most_half": lambda f: max(_half(f)),
    "s4_2.overhead_small": lambda f: f["theirs.rtt.sr.0"] - 2 * f["theirs.oneway.write.4"],
    "s4_3.mg_any_source": lambda f: f["theirs.kernel.mg_named.ms"] < 0.9 * f["theirs.kernel.mg.ms"],
    "t4_3.mg": ByShape(lambda f: f["theirs.kernel.mg.written_percent"] < 0.1, _multigrid),
    "s4_2.near_the_wire": lambda f: f["theirs.bandwidth.sr.65536"] > 0.9 * LINK,
    **{f"t4_3.mean.{name}": partial(_mean, f"theirs.npb.{run}") for name, run in MEANS.items()},
    **{f"npb_{name}": partial(_itself, name=name) for name in ("ep", "is", *MEANS)},
}


# The thesis's tables, in its order.

NINE = 9  # processes of SP and BT, which need a square


def _by_size(sizes: tuple[int, ...], columns: dict[str, str]) -> Grid:
    """A table by size; `columns`: heads, and what a claim's id begins with."""
    lines = {f"{size:,}": [f"{begin}.{size}" for begin in columns.values()] for size in sizes}
    return Grid(("bytes", *columns), lines)


def _shares_of_programs() -> Grid:
    """Table 4.3 but MG, of which next to nothing is written."""
    lines: dict[str, list[Cell]] = {
        name.upper(): [f"t4_3.{name}", f"t4_3.mean.{name}" if name in MEANS else ""]
        for name in (program.name for program in PROGRAMS)
        if name != "mg"
    }
    return Grid(("program", "written, %", "bytes a message"), lines)


def _times() -> Grid:
    """Tables 4.4 to 4.10: SR and NSR on all processes and on four, and what the paper has for MPICH over TCP."""
    lines: dict[str, list[Cell]] = {}
    for program in PROGRAMS:
        begin = f"t4_{TABLES[program.name]}.{program.name}"
        half = 2 if program.ranks == NINE else 3  # processes in the claim: 1 and 4, or 1, 2 and 4
        fewer: list[Cell] = [(f"{begin}.fewer", half - 1), (f"{begin}.fewer", 2 * half - 1)]
        lines[f"{program.name.upper()}, {program.ranks}"] = [f"{begin}.sr", f"{begin}.nsr", *fewer, f"{begin}.mpich"]
    return Grid(("program, processes", *WAYS, *(f"{way}, on 4" for way in WAYS), "MPICH over TCP"), lines)


# Round trip and bandwidth by size, with the thesis's numbers.

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


GRIDS = {
    "Tables 2.1 and 2.2: below MPI": (
        _by_size(primitives.LATENCY_SIZES, {"remote write, us": "t2_1.write", "FIFO, us": "t2_1.fifo"}),
        _by_size(
            primitives.STREAM_SIZES,
            {
                "write, switch": "t2_2.write",
                "FIFO, switch": "t2_2.fifo",
                "write, hub": "t2_2.writeh",
                "FIFO, hub": "t2_2.fifoh",
            },
        ),
    ),
    "Table 4.1: round trip": (_by_size(ROUND_TRIP_SIZES, {"SR": "t4_1.sr", "NSR": "t4_1.nsr"}),),
    "Table 4.2: peak bandwidth": (
        _by_size(
            BANDWIDTH_SIZES,
            {"SR, switch": "t4_2.srf", "NSR, switch": "t4_2.nsrf", "SR, hub": "t4_2.srh", "NSR, hub": "t4_2.nsrh"},
        ),
    ),
    "Table 4.3: what goes by remote write": (_shares_of_programs(),),
    "Tables 4.4 to 4.10: NPB's times": (_times(),),
}
STUDY = study("mbcf", experiments, COMPUTED, of, GRIDS, ways=ways, why_not=why_not, inputs={"npb": npb_build.check})
