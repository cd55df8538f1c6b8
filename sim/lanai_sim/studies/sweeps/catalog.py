"""All sweeps, by name and letter, and how one is run."""

from collections.abc import Callable

from lanai_host.errors import unknown

from .. import parallel
from . import cache, clock, fairness, matching, overlap, queues, sticky, windows
from .point import Conclusion, Figures, Point, Sweep
from .table import Table

MODULES = (clock, cache, queues, fairness, overlap, matching, sticky, windows)
SWEEPS: tuple[Sweep, ...] = tuple(sorted((module.SWEEP for module in MODULES), key=lambda one: one.letter))


def find(name: str) -> Sweep:
    """By name or letter."""
    for sweep in SWEEPS:
        if name in (sweep.name, sweep.letter):
            return sweep
    raise unknown("sweep", name, (sweep.name for sweep in SWEEPS))


def measure(named: tuple[str, Point]) -> Figures:
    """For workers: one point of the sweep with that name."""
    return find(named[0]).measure(named[1])


def run(
    sweep: Sweep, table: Table, quick: bool, jobs: int, mpi: bool, tell: Callable[[Point], None] = lambda point: None
) -> Conclusion:
    """Measure what the table does not hold yet, and conclude from all."""
    points = sweep.points(quick)
    todo = [(sweep.name, point) for point in table.missing(points)]
    for (_, point), figures in parallel.each(measure, todo, jobs, mpi):
        table.add(point, figures)
        tell(point)
    rows = [row for point in points if (row := table.find(point)) is not None]
    return sweep.conclude(rows)
