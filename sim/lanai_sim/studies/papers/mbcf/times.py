"""Tables 4.4 to 4.10: how long NPB's programs take on the largest number of processes."""

from functools import partial

from ..verdicts import ByFigure, ByShape, Figures, Way
from .npb.programs import ALONE, NSR, dotted

TABLES = {"ep": 4, "mg": 5, "cg": 6, "is": 7, "lu": 8, "sp": 9, "bt": 10}
FASTER = ("cg", "is", "lu", "sp")  # with requests, says the paper
WHY = {
    "ep": "It computes and sends next to nothing.",
    "cg": "On `ideal` already eight ranks take 1.23 times an eighth of one's time. Half of the bytes is written.",
    "is": "The all-to-all decides. With requests it is written; without, its receivers take it out of their FIFOs.",
    "lu": "Planes pass from rank to rank. Without named sources few messages can be written, so requests gain nothing.",
    "sp": "On `ideal` already nine ranks take 1.27 times a ninth of one's time; the paper's took 1.08 times in all.",
    "bt": "On `ideal` already nine ranks take 1.49 times a ninth of one's time; the paper's took 0.98 times in all.",
}
BETTER = (
    "By the speeds that the programs print. LU's receives name no source, and in SP a third of the bytes is written. "
    "So LU and SP take about as long either way."
)

NO_NPB = "NPB is not here: give its folder with `--npb DIR`."
NOT_RUN = {
    "fewer": "Only the largest number of processes is run. A basic block's price is made from the time of one process.",
    "mpich": "MPICH over TCP is not simulated.",
}


def ways() -> dict[str, Way]:
    """MG has none: the paper's class W is not one of NPB 3.3."""
    found: dict[str, Way] = {"mbcf.s4_3.sr_better": ByShape(_are_faster, _gains, BETTER)}
    for name, why in WHY.items():
        for way in ("sr", NSR):
            found[f"mbcf.{_claim(name, way)}"] = ByFigure(_figure(name, way), partial(_reason, name, why))
    return found


def why_not() -> dict[str, str]:
    """Reasons, by the beginning of a claim's id without the paper's name."""
    found = {_claim(name): NO_NPB for name in TABLES} | {"s4_3.sr_better": NO_NPB}
    found |= {_claim(name, what): why for name in TABLES for what, why in NOT_RUN.items()}
    mg = "The paper's class W of MG has 64^3 points and 40 iterations, that of NPB 3.3 has 128^3 and 4."
    return found | {_claim("mg", way): mg for way in ("sr", NSR)}


def _claim(name: str, what: str = "") -> str:
    return dotted(f"t4_{TABLES[name]}", name, what)


def _figure(name: str, way: str, what: str = "seconds") -> str:
    return dotted("theirs.npb", name, "" if way == "sr" else way, what)


def _reason(name: str, why: str, figures: Figures) -> str:
    """With what it takes on `ideal`."""
    alone = figures.get(_figure(name, ALONE))
    return why if alone is None else f"{why} Without a network: {alone:.4g} s."


def _gain(figures: Figures, name: str) -> float:
    """The time with requests over that without, by the speeds."""
    return figures[_figure(name, NSR, "mops")] / figures[_figure(name, "sr", "mops")]


def _are_faster(figures: Figures) -> bool:
    return all(_gain(figures, name) < 1 for name in FASTER)


def _gains(figures: Figures) -> str:
    return ", ".join(f"{name.upper()} {_gain(figures, name):.2f}" for name in FASTER) + " times NSR"
