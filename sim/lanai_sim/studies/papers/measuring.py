"""A paper's experiments, how a study runs them, and the programs that they run as jobs."""

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from lanai_host.errors import UserError

from ...executors.journal import Journal, Point, each_kept
from ...executors.place import Place
from ...job.job import Job
from ...job.result import Result
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


def run(module: str, given: Mapping[str, str], point: Point) -> Figures:
    """Return the figures of one experiment of a module. `given`: what the user gave, by its option's name."""
    claims.names()  # a worker finds the papers on LANAI_PATH too
    (experiment,) = (one for one in importlib.import_module(module).EXPERIMENTS if one.name == point["experiment"])
    figures: Figures = experiment.run(point["quick"], *([given[experiment.needs]] if experiment.needs else []))
    return figures


def figures(
    module: str, kept: Journal | None, quick: bool, place: Place, tell: Callable[[str], None], given: Mapping[str, str]
) -> Figures:
    """The figures of all experiments of a module. Those in the journal are not measured again, and
    those that need what is not `given` are left out.

    `tell` is called with each experiment's name as it ends.
    """
    points = [
        {"experiment": one.name, "quick": quick}
        for one in importlib.import_module(module).EXPERIMENTS
        if not one.needs
        or given.get(one.needs)
        or (kept is not None and kept.find({"experiment": one.name, "quick": quick}))
    ]
    rows = each_kept(kept, points, partial(run, module, dict(given)), place, lambda point: tell(point["experiment"]))
    found: Figures = {}
    for row in rows:
        found |= row.figures
    return dict(sorted(found.items()))


def journal(paper: str, revision: int, path: Path | None) -> Journal | None:
    """Return where a paper's figures are kept; `revision` grows when an experiment comes to measure
    something else."""
    return Journal(path, f"paper-{paper}", revision) if path is not None else None


@dataclass(frozen=True)
class Programs:
    """The modules of a package, each a program that prints lines "name value".

    Attributes:
        job: what all of them run as, but for the program.
    """

    package: ModuleType
    job: Job

    def run(self, program: str, *arguments: object, **changes: Any) -> Result:
        """Run a program. `changes`: of the job, as `Job.but` has them."""
        path = str(Path(str(files(self.package))) / f"{program}.py")
        return self.job.but(program=("python", path, *map(str, arguments)), capture=True, **changes).run()

    def lines(self, program: str, *arguments: object, **changes: Any) -> dict[str, float]:
        """Return the lines "name value" that it prints. Raises UserError if it fails."""
        result = self.run(program, *arguments, **changes)
        if not result.ok:
            errors = "".join(one.stderr for one in result.outputs)
            raise UserError(f"{program}.py ended with code {result.code}:\n{errors}{result.report}")
        printed = "".join(one.stdout for one in result.outputs)
        return {name: float(value) for name, value in re.findall(r"^(.+) (\S+)$", printed, re.MULTILINE)}
