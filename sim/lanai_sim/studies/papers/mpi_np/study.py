"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Callable
from pathlib import Path

from ... import parallel
from ...drawing import Plot
from ...sweeps.point import Point
from ...sweeps.table import Table
from .. import claims, verdicts
from ..claims import Kind
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


def measure(name_and_quick: tuple[str, bool]) -> dict[str, float]:
    """For workers: the figures of one experiment."""
    return experiments.measure(*name_and_quick)


def figures(quick: bool, jobs: int, table: Path | None, tell: Callable[[str], None]) -> dict[str, float]:
    """All experiments' figures; those in the table are not measured again. `tell` gets each
    experiment's name as it ends."""
    found: dict[str, float] = {}
    kept = Table(table, f"paper-{PAPER}", REVISION) if table is not None else None
    tasks = []
    for one in experiments.EXPERIMENTS:
        row = kept.find(_point(one.name, quick)) if kept is not None else None
        if row is None:
            tasks.append((one.name, quick))
        else:
            found |= row.figures
    for (name, _), part in parallel.each(measure, tasks, jobs):
        found |= part
        if kept is not None:
            kept.add(_point(name, quick), part)
        tell(name)
    return dict(sorted(found.items()))


def _point(experiment: str, quick: bool) -> Point:
    return {"experiment": experiment, "quick": quick}


def answer(found: dict[str, float]) -> list[Answer]:
    """Every claim's answer, with the reason where there is none."""
    known = claims.load(PAPER)
    tests = verdicts.read_tests(MAPPING, known)
    for claim in known:
        short = claim.id.removeprefix(f"{PAPER}.")
        why = answers.WHY_NOT.get(short) or (
            answers.CONTEXT_WHY_NOT if claim.kind is Kind.CONTEXT else "No experiment or test yet."
        )
        old = tests.get(claim.id, verdicts.Held())
        if not old.tests and not old.why:
            tests[claim.id] = verdicts.Held(why=why)
    return verdicts.answers(known, answers.ways(), tests, found)


def draw(found: dict[str, float]) -> dict[str, Plot]:
    return plots.of(found)
