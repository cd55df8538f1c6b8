"""The answers to the claims, and why those without one have none."""

from collections.abc import Mapping, Sequence
from functools import partial

from ....machine.presets import mbcf_100baset
from ..claims import Claim
from ..verdicts import NOT_YET, ByFigure, ByShape, Figures, Way
from . import primitives, times
from .experiments import BANDWIDTH_SIZES, OUR_SIZES, PHASE_SIZE, ROUND_TRIP_SIZES
from .npb_build import ANY, FEWER, ON_FEWER

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
REQUESTS = "A notice costs the receiver less than a record that its kernel must take out of a FIFO."
SORT = (
    "A bucket sort of our own, 3 * 2^20 keys on 8 ranks, one iteration. All of the all-to-all goes by remote write, "
    "the allreduce by FIFO."
)
GRID = (
    "A multigrid solver of our own, 16^3 points on 8 ranks, whose receives name no source. With named sources the "
    "ranks still run alike, so most messages leave before their request has come, and requests cost time."
)

MEAN = "What the program sends; messages of collective operations are ours."
NPB = {
    "ep": (
        "Its messages are four allreduces of up to 80 bytes; ours double recursively, so both of a pair send at once, "
        "and no request comes in time. With reduces that gather at a root (`--option gather=yes`) it is 54 %. Class W "
        "sends the same messages."
    ),
    "cg": (
        "Two ranks post a receive each, then send to each other: the earlier one finds no request and sends by FIFO, "
        "the later one writes. One iteration of class W."
    ),
    "lu": (
        "Faces, two thirds of the bytes, go to receives without a source, so by FIFO; a row of a plane is written "
        "only to a rank that waits for it already, and ours compute alike. Two iterations."
    ),
    "sp": (
        "A rank posts the receive right behind its own send, so a request comes in time only from a rank that is "
        "ahead, and ours compute alike: in class S 28 % of the faces and 34 % of the line solves' messages "
        "are written. Two iterations of class W."
    ),
    "bt": "As SP: only what goes to a rank that is ahead is written. Two iterations of class W.",
}

WHY_NOT = {
    "t4_3": times.NO_NPB,
    "s4_3": "MPICH over TCP is not simulated.",
} | times.why_not()

RAW = (("t2_1.{}", "oneway", primitives.LATENCY_SIZES), ("t2_2.{}", "full", primitives.STREAM_SIZES),
       ("t2_2.{}h", "half", primitives.STREAM_SIZES))  # fmt: skip


def ways() -> Mapping[str, Way]:
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
    return found | _shapes() | _npb() | times.ways()


def _shapes() -> dict[str, Way]:
    link = mbcf_100baset().link_kbytes / 1000
    return {
        "mbcf.s4_2.requests_help": ByShape(_requests_help, _round_trips, REQUESTS),
        "mbcf.s4_2.no_requests_in_streams": ByShape(
            lambda f: 0.8 < _streams(f) < 1.25, lambda f: f"{_streams(f):.2f} times NSR at 1024 bytes", RECEIVER
        ),
        "mbcf.s4_2.nsr_better_half": ByShape(
            lambda f: all(quotient >= 1 for quotient in _half(f)),
            lambda f: f"NSR {min(_half(f)):.3f} to {max(_half(f)):.3f} times SR",
            HUB,
        ),
        "mbcf.s4_2.overhead_small": ByFigure(
            lambda f: f["theirs.rtt.sr.0"] - 2 * f["theirs.oneway.write.4"], "The difference of two fitted rows."
        ),
        "mbcf.s4_3.mg_any_source": ByShape(
            lambda f: f["theirs.kernel.mg_named.ms"] < 0.9 * f["theirs.kernel.mg.ms"],
            "{f[theirs.kernel.mg.ms]:.1f} ms without sources, {f[theirs.kernel.mg_named.ms]:.1f} ms with named ones",
            GRID,
        ),
        "mbcf.t4_3.is": ByFigure("theirs.kernel.is.written_percent", lambda f: SORT + _itself(f, "is")),
        "mbcf.t4_3.mg": ByShape(lambda f: f["theirs.kernel.mg.written_percent"] < 0.1, _multigrid, GRID),
        "mbcf.s4_2.near_the_wire": ByShape(
            lambda f: f["theirs.bandwidth.sr.65536"] > 0.9 * link,
            "{f[theirs.bandwidth.sr.65536]:.2f} of " + f"{link} MB/s",
            WIRE,
        ),
    }


def _phases(figures: Figures) -> str:
    """With what comes out behind streams of other sizes."""
    found = [value for name, value in figures.items() if name.startswith(f"theirs.phases.nsr.{PHASE_SIZE}.")]
    if not found:
        return HUB
    spread = f"{min(found):.4g} to {max(found):.4g} MB/s"
    return f"{HUB} How many collide depends on what was sent before: {spread} behind streams of other sizes."


def _half(figures: Figures) -> list[float]:
    """Half duplex, NSR's bandwidth over SR's, of the sizes at which the paper has it higher."""
    sizes = [size for size in BANDWIDTH_SIZES if 16 <= size <= 1 << 18]
    return [figures[f"theirs.half_duplex.nsr.{size}"] / figures[f"theirs.half_duplex.sr.{size}"] for size in sizes]


def _npb() -> dict[str, Way]:
    """Table 4.3 by NPB itself. LU's receives name no source, as in the paper's version of it."""
    kinds = {"ep": "S", "cg": "W", "lu": f"{ANY}.W", "sp": "W", "bt": "W"}
    found: dict[str, Way] = {}
    for name, kind in kinds.items():
        begin = f"theirs.npb.{name}.{kind}"
        experiment = "npb_ep_gather" if name == "ep" else ""
        found[f"mbcf.t4_3.{name}"] = ByFigure(f"{begin}.written_percent", partial(_reason, name), experiment=experiment)
        if name != "ep":
            found[f"mbcf.t4_3.mean.{name}"] = ByFigure(partial(_mean, begin), MEAN)
    return found


def _mean(begin: str, figures: Figures) -> float:
    """Bytes of a message."""
    return figures[f"{begin}.bytes"] / figures[f"{begin}.messages"]


def _reason(name: str, figures: Figures) -> str:
    return NPB[name] + _itself(figures, name)


def _itself(figures: Figures, name: str) -> str:
    """Return the share that NPB's own program reached in each class and variant, as far as it was run."""
    begin, end = f"theirs.npb.{name}.", ".written_percent"
    found = {
        figure.removeprefix(begin).removesuffix(end): value
        for figure, value in figures.items()
        if figure.startswith(begin) and figure.endswith(end)
    }
    words = (f"{value:.2f} % {_words(which.split('.'))}" for which, value in sorted(found.items(), key=_place))
    return f" NPB's {name.upper()}: {'; '.join(words)}." if found else ""


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
    return f"{any_source}; {named} if receives name their sources." + _itself(figures, "mg")


def why_not(claim: Claim) -> str:
    """The reason of a claim without a figure or a test; the longest beginning of its id that has a reason."""
    short = claim.id.removeprefix("mbcf.")
    fitting = [begin for begin in WHY_NOT if short.startswith(begin)]
    return WHY_NOT[max(fitting, key=len)] if fitting else NOT_YET


def _requests_help(figures: Figures) -> bool:
    return all(share < 1 for share in _shares(figures))


def _round_trips(figures: Figures) -> str:
    shares = _shares(figures)
    return f"{min(shares):.2f} to {max(shares):.2f} times NSR"


def _shares(figures: Figures) -> list[float]:
    return [figures[f"theirs.rtt.sr.{size}"] / figures[f"theirs.rtt.nsr.{size}"] for size in ROUND_TRIP_SIZES]


def _streams(figures: Figures) -> float:
    return figures["theirs.bandwidth.sr.1024"] / figures["theirs.bandwidth.nsr.1024"]
