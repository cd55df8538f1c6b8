"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Callable
from pathlib import Path

from ...drawing import Plot
from .. import measuring, verdicts
from ..page import Frame
from ..verdicts import Answer
from . import answers, experiments, plots

PAPER = "mpi-np"
REVISION = 1  # grows when an experiment comes to measure something else
CHECKOUT = Path(__file__).parents[5]
MAPPING = CHECKOUT / "tests" / "claims" / "mpi_np.toml"

FRAME = Frame(
    title="MPI-NP, measured again",
    intro=(
        "MPI-NP (A. Wijeyeratnam, University of British Columbia, 1999) put the protocol of MPI on the "
        "processor of a Myrinet "
        "NIC. This page runs its "
        "experiments on our gateware and firmware and sets what it published beside what comes out. `lanai "
        "paper mpi-np` writes it; "
        "`lanai paper mpi-np --quick` takes a few minutes and prints the same tables.\n\n"
        "Time is simulated: 33 MHz processors without cache, 160 MB/s links, a 32-bit 33 MHz host bus, hosts "
        "that cost what `HostConfig` "
        "says. *Thesis's policies* means that pages are pinned and unpinned for each message, every message is "
        "acknowledged, small ones go "
        "without credit, and used page entries are marked; *defaults* is what the project does otherwise. The "
        "program does not wait "
        "for its processor's cache to be written back, which the thesis's timings include."
    ),
    ours="thesis's policies",
    default="defaults",
    experiments=[(one.name, one.says) for one in experiments.EXPERIMENTS],
)


def figures(quick: bool, jobs: int, table: Path | None, tell: Callable[[str], None]) -> dict[str, float]:
    """`Study.figures`."""
    kept = measuring.table(PAPER, REVISION, table)
    return measuring.figures(experiments.__name__, kept, quick, jobs, tell)


def answer(found: dict[str, float]) -> list[Answer]:
    """Every claim's answer, with the reason where there is none."""
    why_not = verdicts.reasons(PAPER, answers.WHY_NOT, answers.CONTEXT_WHY_NOT)
    return verdicts.answered(PAPER, MAPPING, answers.ways(), why_not, found)


def draw(found: dict[str, float]) -> dict[str, Plot]:
    return plots.of(found)
