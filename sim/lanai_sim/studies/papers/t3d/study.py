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
