"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from .. import verdicts
from ..page import Frame
from ..studies import Study
from . import answers, experiments, plots
from .sections import SECTIONS

FRAME = Frame(
    title="SCI-MPICH, measured again",
    intro=(
        "SCI-MPICH (Worringen, Gäer and Reker, 2002) packs datatypes straight into remote memory and has the "
        "one-sided communication of MPI-2. This page runs its experiments on our adapter and the device `sci`, and "
        "sets what it published beside what comes out. `lanai paper sci` writes it. "
        "[The mechanisms](sci-mechanisms.md) are on a page of their own, [what differs](../reference/sci.md) on "
        "that of the device.\n\n"
        "*SCI* stands for `--nic sci_d330 --host pentium3_800`: a link of 664 MB/s, a host bus of 528 MB/s, and four "
        "constants that are taken from the paper: the set-up of a store on the host bus and the latency of a cable, "
        "each from the best of the strided stores of one size; the price of a copied byte from figure 7; and, for puts "
        "by commands alone, the set-up of a read on the host bus from table 2. *Myrinet* is the project's "
        "testbed, `lanai41` and `pentium2_266`. Both have a switch; only the experiment `ringlet` has the fabric "
        "`ring`. The processor stores messages and puts through the aperture, loads gets of at most 64 bytes, and has "
        "longer ones put by the target. All strides but the best of each size, and stores without write combining, are "
        "predicted. Table 2 is measured by MPI_Put in `sparse` on rings, as in the paper; nothing is fitted on it. "
        "[Remote memory](../reference/remote.md#on-a-ring) says why a ring is most efficient with 5 nodes without MPI, "
        "and the paper's with 6. Bandwidths are in MiB/s, as in the paper. Time is simulated."
    ),
    ours="SCI",
    default="Myrinet",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="sci",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=plots.of,
    why_not=verdicts.reasons("sci", answers.WHY_NOT, answers.CONTEXT_WHY_NOT),
    revision=5,
    quick_minutes=1,
)
