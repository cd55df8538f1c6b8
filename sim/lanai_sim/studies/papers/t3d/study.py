"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from .. import verdicts
from ..page import Frame
from ..studies import Study
from . import answers, experiments, plots
from .sections import SECTIONS

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
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="t3d",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=plots.of,
    why_not=verdicts.reasons("t3d", answers.WHY_NOT, answers.CONTEXT_WHY_NOT),
    quick_minutes=2,
)
