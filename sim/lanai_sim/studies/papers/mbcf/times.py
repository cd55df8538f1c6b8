"""Tables 4.4 to 4.10: how long NPB's programs take on the largest number of processes, and on 4."""

from collections.abc import Sequence
from functools import partial

from .. import claims
from ..verdicts import NEAR, ByFigure, ByShape, Figures, Way
from .npb import causes
from .npb.building import ALONE, FEWER, NSR, PROGRAMS, Benchmark, begin, dotted

TABLES = {"ep": 4, "mg": 5, "cg": 6, "is": 7, "lu": 8, "sp": 9, "bt": 10}
FASTER = ("cg", "is", "lu", "sp")  # with requests, says the paper
WAYS = {"SR": "", "NSR": NSR}
WHY = {
    "ep": "It computes and sends next to nothing.",
    "mg": "Faces of a grid go to receives without a source, so by FIFO, with requests or without.",
    "cg": "On `ideal` already eight ranks take 1.23 times an eighth of one's time. Half of the bytes is written.",
    "is": (
        "The all-to-all decides. With requests it is written, both ways at once here and in turns on the paper's half "
        "duplex; without, receivers take it out of their FIFOs, which takes longer than the wire."
    ),
    "lu": "Planes pass from rank to rank. Without named sources few messages can be written, so requests gain nothing.",
    "sp": "On `ideal` already nine ranks take 1.27 times a ninth of one's time; the paper's took 1.08 times in all.",
    "bt": "On `ideal` already nine ranks take 1.49 times a ninth of one's time; the paper's took 0.98 times in all.",
}
ON_FOUR = (
    "Judged by 4 processes. A single one takes as long as the paper's by the choice of an instruction's price; two "
    "were not run."
)
BETTER = (
    "By the speeds that the programs print. LU's receives name no source, so it takes as long either way. SP's cause "
    "is not known; what was tried stands in its own row."
)

SP = (
    "Cause not known. A full FIFO is not it: messages of 23 KB do not fit in a FIFO of 32 KiB that holds another one, "
    "but larger FIFOs change little."
)
NO_NPB = "Not in this run: it takes NPB, in the folder that `--npb DIR` names."
NOT_RUN = {"mpich": "MPICH over TCP is not simulated."}


def table(name: str) -> str:
    """The number of a program's table."""
    return f"4.{TABLES[name]}"


def ways() -> dict[str, Way]:
    found: dict[str, Way] = {
        "mbcf.s4_3.sr_better": ByShape(_are_faster, _gains, BETTER),
        "mbcf.s4_3.sp_best": ByShape(lambda f: _gain(f, "sp") < 0.97, _sps, SP),
        "mbcf.s4_3.bt_hidden": ByShape(lambda f: abs(_gain(f, "bt") - 1) < 0.03, lambda f: _words(f, "bt"), WHY["bt"]),
    }
    published = {claim.id: claim.values for claim in claims.load("mbcf")}
    for program in PROGRAMS:
        name, why = program.name, WHY[program.name]
        for way in ("sr", NSR):
            found[f"mbcf.{_claim(name, way)}"] = ByFigure(_figure(name, way), partial(_reason, name, why))
        fewer = f"mbcf.{_claim(name, 'fewer')}"
        found[fewer] = _on_four(program, published[fewer])
    return found


def why_not() -> dict[str, str]:
    """Reasons, by the beginning of a claim's id without the paper's name."""
    found = {_claim(name): NO_NPB for name in TABLES} | dict.fromkeys(
        ("s4_3.sr_better", "s4_3.sp_best", "s4_3.bt_hidden"), NO_NPB
    )
    return found | {_claim(name, what): why for name in TABLES for what, why in NOT_RUN.items()}


def _on_four(program: Benchmark, published: Sequence[float]) -> ByShape:
    """Within 10 % of the paper's times on 4 processes. Of both ways the last is that on 4."""
    half = len(published) // 2
    theirs = dict(zip(WAYS, (published[half - 1], published[-1]), strict=True))

    def ours(figures: Figures) -> dict[str, float]:
        start = begin(program, FEWER)
        return {name: figures[dotted(start, way, "seconds")] for name, way in WAYS.items()}

    def holds(figures: Figures) -> bool:
        return all(abs(seconds / theirs[name] - 1) < NEAR for name, seconds in ours(figures).items())

    def saw(figures: Figures) -> str:
        words = (f"{name} {seconds:.4g} s (paper {theirs[name]:g})" for name, seconds in ours(figures).items())
        return f"{FEWER} processes: " + ", ".join(words)

    def values(figures: Figures) -> list[float | None]:
        """Return the claim's values: none on fewer than four processes."""
        left: list[float | None] = [None] * (half - 1)
        return [one for seconds in ours(figures).values() for one in (*left, seconds)]

    return ByShape(holds, saw, ON_FOUR, values)


def _claim(name: str, what: str = "") -> str:
    return dotted(f"t4_{TABLES[name]}", name, what)


def _figure(name: str, way: str, what: str = "seconds") -> str:
    return dotted("theirs.npb", name, "" if way == "sr" else way, what)


def _reason(name: str, why: str, figures: Figures) -> str:
    """With what it takes on `ideal`, and IS on one wire that all share: the paper's hub switched, half duplex, and
    lies between that and ours. SP's is in `_sps`."""
    alone = figures.get(_figure(name, ALONE))
    why = why if alone is None else f"{why} Without a network: {alone:.4g} s."
    half = [dotted(causes.BEGIN, name, "half_duplex", way, "seconds") for way in ("", NSR)]
    if name != "is" or not figures.keys() >= {*half}:
        return why
    requested, without = (figures[one] for one in half)
    return f"{why} On one wire that all share {requested:.4g} s with requests, {without:.4g} without."


def _gain(figures: Figures, name: str) -> float:
    """The time with requests over that without, by the speeds; by the times, if a record has no speeds."""
    ways = ("sr", NSR)
    if all(_figure(name, way, "mops") in figures for way in ways):
        return figures[_figure(name, NSR, "mops")] / figures[_figure(name, "sr", "mops")]
    return figures[_figure(name, "sr")] / figures[_figure(name, NSR)]


def _words(figures: Figures, name: str) -> str:
    return f"with requests {_gain(figures, name):.3f} times as long as without"


def _sps(figures: Figures) -> str:
    """With what else was tried."""
    tried = causes.tried("sp", figures)
    return _words(figures, "sp") + (f"; with one thing changed: {tried}" if tried else "")


def _are_faster(figures: Figures) -> bool:
    return all(_gain(figures, name) < 1 for name in FASTER)


def _gains(figures: Figures) -> str:
    return ", ".join(f"{name.upper()} {_gain(figures, name):.2f}" for name in FASTER) + " times NSR"
