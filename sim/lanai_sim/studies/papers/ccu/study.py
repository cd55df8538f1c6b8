"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from .. import verdicts
from ..page import Frame
from ..studies import Study
from . import answers, experiments, plots
from .sections import SECTIONS

FRAME = Frame(
    title="The CCU MPI, measured again",
    intro=(
        "The MPI of Chung Cheng University (Y.-Z. Chang, K.-S. Ding and J.-J. Tsay, 1996) runs a multicast "
        "daemon on each workstation of an Ethernet. This page runs its experiments on [the device "
        "`ccu`](../reference/ccu.md) and sets what it published beside what comes out. `lanai paper ccu` "
        "writes it.\n\n"
        "Time is simulated: a broadcast wire of 10 Mbit/s (`--fabric ethernet`), workstations whose daemon is a "
        "slow processor (`--nic ethernet10`) that spends `work` on each packet beyond its instructions, hosts of "
        "the preset `sparc_sunos`. Two constants are fitted: `work` and the host's price of a call, on the two "
        "bandwidths that the text prints. The curves of the paper's figures are not among our sources.\n\n"
        "LAM and MPICH are not built. Their stand-ins are the same daemon without broadcast: for LAM it sends "
        "datagrams of up to 8,192 bytes and waits for the acknowledgement of each, for MPICH it has a window of 3 "
        "packets. NICs take turns on the wire but in the experiment `colliding`. Processors compute in no time.\n\n"
        "A time counts from when the last of the processes that send first has left the barrier before it, and "
        "nothing else is on the wire until all are done. The paper's processes have a clock each."
    ),
    ours="here",
    default="",
    experiments=experiments.EXPERIMENTS,
    sections=SECTIONS,
)

STUDY = Study(
    paper="ccu",
    frame=FRAME,
    experiments=experiments,
    ways=answers.ways,
    draw=plots.of,
    why_not=verdicts.reasons("ccu", answers.WHY_NOT, verdicts.NOT_YET),
    revision=4,
    quick_minutes=3,
)
