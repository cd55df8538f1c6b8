"""Failures of runs: a wrong end, or another output than that of the usual run."""

import re
from dataclasses import dataclass

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
