"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from .. import verdicts
from ..page import Frame
from ..studies import Study
from . import answers, experiments, plots
from .sections import SECTIONS

FRAME = Frame(
    title="MPI-NP, measured again",
    intro=(
        "MPI-NP (A. Wijeyeratnam, University of British Columbia, 1999) put the protocol of MPI on the processor of a "
        "Myrinet NIC. `lanai paper mpi-np` runs its experiments on our gateware and firmware, and writes this page.\n\n"
        "Time is simulated: 33 MHz processors without cache, 160 MB/s links, a 32-bit 33 MHz host bus, hosts "
        "that cost what `HostConfig` "
        "says. *Thesis's policies* means that pages are pinned and unpinned for each message, every message is "
        "acknowledged, small ones go "
        "without credit, used page entries are marked, a receive asks its sender, a body is written only into an empty "
        "channel, and a round trip sends before it posts its receive. The price of a page is fitted on figure 3.4 "
        "(`--host thesis`); no other number is fitted on the thesis. *Defaults* is what the project does otherwise. "
        "The program does not wait for its processor's cache to be written back, which the thesis's timings include."
    ),
    ours="thesis's policies",
    default="defaults",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="mpi-np",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=plots.of,
    why_not=verdicts.reasons("mpi-np", answers.WHY_NOT, answers.CONTEXT_WHY_NOT),
    revision=2,
    quick_minutes=1,
)
