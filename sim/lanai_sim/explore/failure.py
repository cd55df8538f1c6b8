"""Failures of runs: a wrong end, or another output than that of the usual run; and the same failure by fewer changed
choices."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from lanai_host.orders import ALL, MATCH, Choice

from ..job.result import Ending, Result
from .running import Outcome

_PROCESS = re.compile(r"\(pid \d+\)|at [\d.]+ \w+:")  # differs from run to run


@dataclass(frozen=True)
class Failure:
    """A run that is wrong. `kind`: "deadlock", "output", or another ending of a run. `races`: which messages race, in
    lines with the places of their sends."""

    kind: str
    text: str
    outcome: Outcome
    races: tuple[str, ...] = ()

    @property
    def head(self) -> tuple[str, str]:
        """The kind and the first line: two runs that fail alike have the same."""
        return self.kind, _PROCESS.sub("", self.text.partition("\n")[0])


def failure_of(outcome: Outcome, usual: Outcome | None = None) -> Failure | None:
    """Return how a run has failed; with `usual`, also if it has printed or written something else."""
    result = outcome.result
    if result.code:
        errors = [] if result.ending is Ending.DEADLOCK else _last_errors(result)
        return Failure(str(result.ending), "\n".join([result.report, *errors]), outcome)
    if usual is not None and (difference := differs(usual, outcome)):
        return Failure("output", difference, outcome)
    return None


def _last_errors(result: Result) -> list[str]:
    """Return the last line that each rank which did not end well has written to its standard error."""
    said = [(rank, output.stderr.split("\n")) for rank, output in enumerate(result.outputs) if result.exits[rank]]
    last = [(rank, next((line for line in reversed(lines) if line.strip()), "")) for rank, lines in said]
    return [f"[rank {rank}] {line}" for rank, line in last if line]


def differs(usual: Outcome, outcome: Outcome) -> str:
    """Return the first line in which two runs differ, of what their ranks have printed, and then of the files that they
    have written; empty if in none."""
    pairs = zip(usual.result.outputs, outcome.result.outputs, strict=True)
    for rank, (one, other) in enumerate(pairs):
        if said := _first_line(f"of rank {rank}", one.stdout, other.stdout):
            return said
    for name in sorted({*usual.files, *outcome.files}):
        texts = [run.files.get(name) for run in (usual, outcome)]
        if None in texts:
            return f"the file {name} is {'' if texts[0] is None else 'not '}written"
        if said := _first_line(f"of the file {name}", str(texts[0]), str(texts[1])):
            return said
    return ""


def _first_line(where: str, usual: str, other: str) -> str:
    lines, others = usual.splitlines(), other.splitlines()
    for number in range(max(len(lines), len(others))):
        texts = [repr(all_[number]) if number < len(all_) else "nothing" for all_ in (lines, others)]
        if texts[0] != texts[1]:
            return f"line {number + 1} {where} is {texts[1]} instead of {texts[0]}"
    return ""


MOST = 12  # changed choices of which each is tried
Plan = frozenset[Choice]


def minimized(failure: Failure, run: Callable[[Plan], Outcome], usual: Outcome | None) -> Failure:
    """Return the same failure by fewer changed choices, as far as `run` finds one. `usual`: a run that has printed
    what others shall print."""

    def again(plan: Plan) -> Failure | None:
        found = failure_of(run(plan), usual)
        return found if found is not None and found.head == failure.head else None

    best = failure
    if any(one.kind == MATCH and one.number == ALL for one in failure.outcome.plan):
        best = again(_exact(failure.outcome)) or failure
    if 1 < len(best.outcome.plan) <= MOST:
        for one in sorted(best.outcome.plan, reverse=True):
            rest = best.outcome.plan - {one}
            best = (again(rest) if rest else None) or best
    return best


def _exact(outcome: Outcome) -> Plan:
    """Return the plan of a run without what it says of all choices, but for sends."""
    changed = [one.choice for one in outcome.deviations]
    return frozenset([*changed, *(one for one in outcome.plan if one.kind != MATCH)])
