"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Callable
from pathlib import Path

from ...drawing import Plot
from .. import measuring, verdicts
from ..page import Frame
from ..verdicts import Answer
from . import answers, experiments, plots

PAPER = "t3d"
REVISION = 1  # grows when an experiment comes to measure something else
CHECKOUT = Path(__file__).parents[5]
MAPPING = CHECKOUT / "tests" / "claims" / "t3d.toml"

FRAME = Frame(
    title="MPICH on the Cray T3D, measured again",
    intro=(
        "Brightwell and Skjellum (1996) made a device for MPICH of the T3D's remote puts. This page "
        "runs their experiments on our gateware and firmware, by `--device t3d --nic t3d --host "
        "alpha21064`, and sets what they published beside what comes out. `lanai paper t3d` writes "
        "it. [The mechanisms](t3d-mechanisms.md) are on a page of their own.\n\n"
        "The paper prints few numbers, and none of the machine's. The host bus of the preset is "
        "fitted on the peak that its numbers imply, and the prices of the host's software on its "
        "bandwidths. What was not fitted is the shape between: by its two bandwidths, a message of "
        "n bytes takes 65 us + n / 107 MB/s. CRI/EPCC MPI, with which the paper compares itself, is "
        "not built here."
    ),
    ours="here",
    default="",
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
