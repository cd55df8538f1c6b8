"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from ..page import Frame
from ..studies import Study
from . import answers, experiments, plots
from .npb import building
from .sections import SECTIONS

FRAME = Frame(
    title="MPI/MBCF, measured again",
    intro=(
        "MPI/MBCF (K. Morimoto, University of Tokyo, 1999) writes messages straight to the memory of receives "
        "that were posted first, and sends the others by FIFO. This page runs its measurements on our adapter "
        "and the device `mbcf`, and sets what it published beside what comes out. `lanai paper mbcf` writes it. [The "
        "mechanisms](mbcf-mechanisms.md) are on a page of their own.\n\n"
        "*100BASE-TX* is `--nic mbcf_100baset --host supersparc_85` on the fabrics `hub`, `csma` for the half-duplex "
        "part of table 4.2, and, full duplex, `switching-hub`; *Myrinet* is the project's testbed with the hosts of "
        "`pentium2_266`. Time is simulated.\n\n"
        "Six prices of that host are fitted on rows of tables 2.1 and 2.2 and four on rows of table 4.1, the least "
        "frame of the hub on a row of table 2.2 (`host/lanai_host/config.py` and "
        "`sim/lanai_sim/machine/fabrics/wires.py` name the rows). The rest is simulated."
    ),
    ours="100BASE-TX",
    default="Myrinet",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)


STUDY = Study(
    paper="mbcf",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=plots.of,
    why_not=answers.why_not,
    revision=6,
    inputs={"npb": building.check},
    quick_minutes=1,
)
