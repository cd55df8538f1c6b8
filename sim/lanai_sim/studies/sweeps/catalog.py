"""All sweeps, by name and letter, and how one is run."""

from collections.abc import Callable
from functools import partial

from lanai_host.errors import unknown

from ...executors.journal import Journal, each_kept
from ...executors.place import Place
from . import cache, clock, fairness, matching, overlap, queues, sticky, windows
from .point import Conclusion, Figures, Point, Sweep

MODULES = (clock, cache, queues, fairness, overlap, matching, sticky, windows)
SWEEPS: tuple[Sweep, ...] = tuple(sorted((module.SWEEP for module in MODULES), key=lambda one: one.letter))


def find(name: str) -> Sweep:
    """Return the sweep with this name or letter."""
    for sweep in SWEEPS:
        if name in (sweep.name, sweep.letter):
            return sweep
    raise unknown("sweep", name, (sweep.name for sweep in SWEEPS))


def measure(name: str, point: Point) -> Figures:
    """For workers: one point of the sweep with that name."""
    return find(name).measure(point)


def run(
    sweep: Sweep, journal: Journal, quick: bool, place: Place, tell: Callable[[Point], None] = lambda point: None
) -> Conclusion:
    """Measure what the journal does not hold yet, and conclude from all."""
    return sweep.conclude(each_kept(journal, sweep.points(quick), partial(measure, sweep.name), place, tell))
