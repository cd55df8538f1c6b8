"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Callable
from pathlib import Path

from ...drawing import Plot
from .. import claims, measuring, verdicts
from ..page import Frame
from ..verdicts import Answer, Held
from . import answers, experiments, plots

PAPER = "ccu"
REVISION = 3  # grows when an experiment comes to measure something else
CHECKOUT = Path(__file__).parents[5]

FRAME = Frame(
    title="The CCU MPI, measured again",
    intro=(
        "The MPI of Chung Cheng University (Y.-Z. Chang, K.-S. Ding and J.-J. Tsay, 1996) runs a multicast "
        "daemon on each workstation of an Ethernet. This page runs its experiments on [the device "
        "`ccu`](../reference/ccu.md) and sets what it published beside what comes out. `lanai paper ccu` "
        "writes it; the figures here are those of `--quick`.\n\n"
        "Time is simulated: a broadcast wire of 10 Mbit/s (`--fabric ethernet`), workstations whose daemon is a "
        "slow processor (`--nic ethernet10`) that spends `work` on each packet beyond its instructions, hosts of "
        "the preset `sparc_sunos`. Two constants are fitted: `work` and the host's price of a call, on the two "
        "bandwidths that the text prints. The curves of the paper's figures are not among our sources.\n\n"
        "LAM and MPICH are not built: their stand-ins are the same daemon with window 1, or window 3, and "
        "without broadcast. Collisions on the wire are not modelled. Processors compute in no time.\n\n"
        "A time counts from when the last of the processes that send first has left the barrier before it, and "
        "nothing else is on the wire until all are done. The paper's processes have a clock each."
    ),
    ours="here",
    default="",
    experiments=[(one.name, one.says) for one in experiments.EXPERIMENTS],
)


def figures(quick: bool, jobs: int, table: Path | None, tell: Callable[[str], None]) -> dict[str, float]:
    """`Study.figures`. Each experiment is a run with processes of its own, so `jobs` would not
    help."""
    kept = measuring.table(PAPER, REVISION, table)
    return measuring.figures(experiments.__name__, kept, quick, 1, tell)


def answer(found: dict[str, float]) -> list[Answer]:
    """Every claim's answer, with the reason where there is none."""
    known = claims.load(PAPER)
    held = {}
    for claim in known:
        short = claim.id.removeprefix(f"{PAPER}.")
        held[claim.id] = Held(answers.HELD.get(short, ()), answers.WHY_NOT.get(short, answers.NOT_YET))
    return verdicts.answers(known, answers.ways(), held, found)


def draw(found: dict[str, float]) -> dict[str, Plot]:
    """The plots of the page by file name."""
    return plots.of(found)
