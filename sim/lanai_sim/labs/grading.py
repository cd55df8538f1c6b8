"""The grade of a student's work: public cases, then private ones, then the score."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..units import counted
from .outcome import Outcome
from .running import Work
from .task import Case, Task

BENCHES = f"{__package__}.benches"
SHOWN = 20  # lines of what the work printed


@dataclass
class Grade:
    """The result of each case. `loading` says why none could be run."""

    task: Task
    loading: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by name of the case
    skipped: int = 0

    @property
    def passed(self) -> bool:
        return not self.loading and not self.skipped and not any(one.wrong for one in self.outcomes.values())

    @property
    def total(self) -> int:
        """Units that the public cases took together."""
        return sum(self.outcomes[case.name].cycles for case in self.task.public if case.name in self.outcomes)

    @property
    def points(self) -> int:
        return self.task.points(self.total) if self.passed else 0

    def figures(self) -> dict[str, float]:
        """Named numbers, as `lanai lab grade --json` writes them."""
        name = f"lab.{self.task.name}"
        failed = sum(bool(one.wrong) for one in self.outcomes.values()) + self.skipped
        figures: dict[str, float] = {f"{name}.points": self.points, f"{name}.failed": failed}
        return {**figures, f"{name}.{self.task.unit}": self.total} if self.passed else figures


def grade(task: Task, folder: Path, seed: int, seconds: float, tell: Callable[[str], None]) -> Grade:
    """Grade the work in a folder, and tell of each case in a line. Private cases are run when all public ones pass."""
    found, work = Grade(task), Work(task, folder, seconds)
    if task.prepared:
        importlib.import_module(f"{BENCHES}.{task.name}").prepare()
    _run(found, work, task.public, tell)
    secret = task.secret(seed)
    if found.passed:
        tell(f"private cases of seed {seed}:")
        _run(found, work, secret, tell)
    elif not found.loading:
        tell("private cases are run when all public ones pass")
    _tell_score(found, tell)
    return found


def _run(found: Grade, work: Work, cases: Sequence[Case], tell: Callable[[str], None]) -> None:
    width = max(len(case.name) for case in [*found.task.public, *cases])
    ran = 0
    for outcome in work.run(cases):
        if outcome.number < 0:
            if outcome.wrong:
                found.loading = outcome.wrong
                tell(f"cannot load your code: {outcome.wrong}")
            continue
        case, ran = cases[outcome.number], ran + 1
        found.outcomes[case.name] = outcome
        if outcome.wrong:
            tell(f"  FAIL  {case.name:{width}}  {outcome.wrong}")
            if case not in found.task.public:
                tell(f"        {_values(case.values)}")
        else:
            tell(f"  ok    {case.name:{width}}  {outcome.cycles} {found.task.unit}")
    if not found.loading:
        found.skipped += len(cases) - ran
        if ran < len(cases):
            tell(f"  {counted(len(cases) - ran, 'more case')} not run")
    if work.printed:
        tell("your code printed:")
        for line in work.printed[:SHOWN]:
            tell(f"  | {line}")
        if len(work.printed) > SHOWN:
            tell(f"  | and {counted(len(work.printed) - SHOWN, 'more line')}")


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _tell_score(found: Grade, tell: Callable[[str], None]) -> None:
    task = found.task
    if found.loading:
        tell("score: 0 of 100")
    elif not found.passed:
        failed = sum(bool(one.wrong) for one in found.outcomes.values())
        skipped = f", {found.skipped} were not run" if found.skipped else ""
        tell(f"score: 0 of 100: {failed} of {counted(len(found.outcomes) + found.skipped, 'case')} failed{skipped}")
    else:
        better = [step for step in task.steps if step.points > found.points]
        more = f"; {better[-1].points} points need at most {better[-1].at_most}" if better else ""
        tell(f"score: {found.points} of 100: {found.total} {task.unit} in the public cases{more}")
