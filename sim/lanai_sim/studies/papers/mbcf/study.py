"""The whole study: run every experiment, answer every claim, draw, and word the page."""

from collections.abc import Callable
from pathlib import Path

from ... import parallel
from ...drawing import Plot
from ...sweeps.table import Table
from .. import claims, verdicts
from ..page import Frame
from ..verdicts import Answer
from . import answers, experiments

PAPER = "mbcf"
REVISION = 1  # grows when an experiment comes to measure something else
CHECKOUT = Path(__file__).parents[5]
MAPPING = CHECKOUT / "tests" / "claims" / "mbcf.toml"

FRAME = Frame(
    title="MPI/MBCF, measured again",
    intro=(
        "MPI/MBCF (K. Morimoto, University of Tokyo, 1999) writes messages straight to the memory of receives "
        "that were posted first, and sends the others by FIFO. This page runs its measurements on our adapter "
        "and the device `mbcf`, and sets what it published beside what comes out. `lanai paper mbcf` writes it.\n\n"
        "*100BASE-TX* has links of 12.5 MB/s and the hosts of `supersparc_85`; *Myrinet* is the project's "
        "testbed with the hosts of `pentium2_266`. Time is simulated."
    ),
    ours="100BASE-TX",
    default="Myrinet",
    experiments=[(one.name, one.says) for one in experiments.EXPERIMENTS],
)


def measure(name_and_quick: tuple[str, bool]) -> dict[str, float]:
    """For workers: the figures of one experiment."""
    name, quick = name_and_quick
    return next(one for one in experiments.EXPERIMENTS if one.name == name).run(quick)


def figures(quick: bool, jobs: int, table: Path | None, tell: Callable[[str], None]) -> dict[str, float]:
    """All experiments' figures; those in the table are not measured again. `tell` gets each
    experiment's name as it ends."""
    found: dict[str, float] = {}
    kept = Table(table, f"paper-{PAPER}", REVISION) if table is not None else None
    tasks = []
    for one in experiments.EXPERIMENTS:
        row = kept.find({"experiment": one.name, "quick": quick}) if kept is not None else None
        if row is None:
            tasks.append((one.name, quick))
        else:
            found |= row.figures
    for (name, _), part in parallel.each(measure, tasks, jobs):
        found |= part
        if kept is not None:
            kept.add({"experiment": name, "quick": quick}, part)
        tell(name)
    return dict(sorted(found.items()))


def answer(found: dict[str, float]) -> list[Answer]:
    """Every claim's answer, with the reason where there is none."""
    known = claims.load(PAPER)
    tests = verdicts.read_tests(MAPPING, known)
    for claim in known:
        held = tests.get(claim.id, verdicts.Held())
        if not held.tests and not held.why:
            tests[claim.id] = verdicts.Held(why=answers.why_not(claim.id))
    return verdicts.answers(known, answers.ways(), tests, found)


def draw(found: dict[str, float]) -> dict[str, Plot]:
    """Round trip and bandwidth by size."""
    return {
        "round_trip": Plot("Round trip", "bytes", "us", _curves(found, "rtt"), log="xy"),
        "bandwidth": Plot("Peak bandwidth", "bytes", "MB/s", _curves(found, "bandwidth"), log="x"),
    }


def _curves(found: dict[str, float], what: str) -> dict[str, dict[float, float]]:
    curves: dict[str, dict[float, float]] = {}
    for name, value in found.items():
        setting, kind, way, size = name.split(".")
        if kind == what and float(size):
            network = FRAME.ours if setting == "theirs" else FRAME.default
            curves.setdefault(f"{way.upper()}, {network}", {})[float(size)] = value
    return curves
