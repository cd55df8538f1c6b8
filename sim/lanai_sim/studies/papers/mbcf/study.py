"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Callable
from pathlib import Path

from ...drawing import Plot
from .. import measuring, verdicts
from ..page import Frame
from ..verdicts import Answer
from . import answers, experiments

PAPER = "mbcf"
REVISION = 2  # grows when an experiment comes to measure something else
CHECKOUT = Path(__file__).parents[5]
MAPPING = CHECKOUT / "tests" / "claims" / "mbcf.toml"

FRAME = Frame(
    title="MPI/MBCF, measured again",
    intro=(
        "MPI/MBCF (K. Morimoto, University of Tokyo, 1999) writes messages straight to the memory of receives "
        "that were posted first, and sends the others by FIFO. This page runs its measurements on our adapter "
        "and the device `mbcf`, and sets what it published beside what comes out. `lanai paper mbcf` writes it.\n\n"
        "*100BASE-TX* is `--nic mbcf_100baset --host supersparc_85` on the fabrics `hub` and, full duplex, "
        "`switching-hub`; *Myrinet* is the project's testbed with the hosts of `pentium2_266`. Time is simulated.\n\n"
        "Six prices of that host are fitted on rows of tables 2.1 and 2.2 and four on rows of table 4.1, the least "
        "frame of the hub on a row of table 2.2 (`host/lanai_host/config.py` and "
        "`sim/lanai_sim/machine/fabrics/hub.py` name the rows). The rest is simulated."
    ),
    ours="100BASE-TX",
    default="Myrinet",
    experiments=[(one.name, one.says) for one in experiments.EXPERIMENTS],
)


def figures(quick: bool, jobs: int, table: Path | None, tell: Callable[[str], None]) -> dict[str, float]:
    """`Study.figures`."""
    kept = measuring.table(PAPER, REVISION, table)
    return measuring.figures(experiments.__name__, kept, quick, jobs, tell)


def answer(found: dict[str, float]) -> list[Answer]:
    """Every claim's answer, with the reason where there is none."""
    return verdicts.answered(PAPER, MAPPING, answers.ways(), lambda claim: answers.why_not(claim.id), found)


def draw(found: dict[str, float]) -> dict[str, Plot]:
    """Round trip and bandwidth by size."""
    return {
        "round_trip": Plot("Round trip", "bytes", "us", _curves(found, "rtt"), log="xy"),
        "bandwidth": Plot("Peak bandwidth", "bytes", "MB/s", _curves(found, "bandwidth"), log="x"),
    }


def _curves(found: dict[str, float], what: str) -> dict[str, dict[float, float]]:
    curves: dict[str, dict[float, float]] = {}
    for name, value in found.items():
        setting, kind, way, size = name.split(".")
        if kind == what and float(size):
            network = FRAME.ours if setting == "theirs" else FRAME.default
            curves.setdefault(f"{way.upper()}, {network}", {})[float(size)] = value
    return curves
