"""A paper's experiments, and how a study runs them."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import parallel
from ..sweeps.point import Point
from ..sweeps.table import Table
from . import claims

Figures = dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """One measurement of a paper done again.

    Attributes:
        name: unique in its paper; the page calls it so.
        says: which of the paper's measurements it is.
        run: from `quick` to figures; if it `needs` something, from `quick` and that.
        needs: what the user must give, by its option's name. Without it the experiment is left out.
    """

    name: str
    says: str
    run: Callable[..., Figures]
    needs: str = ""


@dataclass(frozen=True)
class Task:
    """An experiment as workers get it: its name in the list EXPERIMENTS of a module."""

    module: str
    name: str
    quick: bool
    given: str = ""

    @property
    def point(self) -> Point:
        return {"experiment": self.name, "quick": self.quick}


def run(task: Task) -> Figures:
    """The figures of one experiment."""
    claims.names()  # a worker finds the papers on LANAI_PATH too
    (experiment,) = (one for one in importlib.import_module(task.module).EXPERIMENTS if one.name == task.name)
    figures: Figures = experiment.run(task.quick, *([task.given] if experiment.needs else []))
    return figures


def figures(
    module: str, kept: Table | None, quick: bool, jobs: int, tell: Callable[[str], None], given: Mapping[str, str]
) -> Figures:
    """The figures of all experiments of a module. Those in the table are not measured again, and
    those that need what is not `given` are left out.

    `tell` is called with each experiment's name as it ends.
    """
    found: Figures = {}
    missing = []
    for one in importlib.import_module(module).EXPERIMENTS:
        task = Task(module, one.name, quick, given.get(one.needs, ""))
        row = kept.find(task.point) if kept is not None else None
        if row is not None:
            found |= row.figures
        elif task.given or not one.needs:
            missing.append(task)
    for task, part in parallel.each(run, missing, jobs):
        found |= part
        if kept is not None:
            kept.add(task.point, part)
        tell(task.name)
    return dict(sorted(found.items()))


def table(paper: str, revision: int, path: Path | None) -> Table | None:
    """Where a paper's figures are kept; `revision` grows when an experiment comes to measure
    something else."""
    return Table(path, f"paper-{paper}", revision) if path is not None else None
