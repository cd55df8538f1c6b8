"""One run of a program by a plan."""

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanai_host.orders import ALL, ENV_ORDERS, MATCH, PLAN, SEND, SITES, Choice

from ..job.forked import WarmServers
from ..job.job import Job
from ..job.launcher import Run
from ..job.result import Ending, Result
from .records import Made, Written, place_of_site, read, sends, threads

DEVICE, OPTIONS = "ideal", "unlimited"
Message = tuple[int, int, int]  # sender, receiver, number among those of the two


@dataclass(frozen=True)
class Outcome:
    """A run: what was planned, what the ranks chose, and how it ended."""

    plan: frozenset[Choice]
    made: tuple[Made, ...]
    result: Result
    threads: str = ""  # which rank has had several
    files: Mapping[str, str] = field(default_factory=dict)  # what it has written, by name
    seconds: float = 0.0  # of processor time that it took; of real time, if that was its limit

    @property
    def missed(self) -> bool:
        """The plan could not be followed."""
        return any(one.missed is not None for one in self.made)

    @property
    def history(self) -> tuple[tuple[Choice, int | None], ...]:
        """The choices and tags that decide the run of a program that is deterministic by itself."""
        return tuple((one.choice, one.tag) for one in self.made)

    @property
    def deviations(self) -> list[Made]:
        """The choices that are not the usual ones, but for sends of which the plan says that all wait."""
        planned = {tuple(one) for one in self.plan}
        return [
            one
            for one in self.made
            if tuple(one.choice) in planned or (one.choice.kind != SEND and one.choice.value != one.usual)
        ]


class Runner:
    """Runs jobs one after the other. Their ranks, if they are Python's, share one process's imports. `written`: what
    finds the files that a run has written; None: they do not matter."""

    def __init__(self, written: Written | None = None) -> None:
        self._servers = WarmServers()
        self._written = written

    def run(self, job: Job, plan: Sequence[Choice] | frozenset[Choice]) -> Outcome:
        """Run a job by a plan."""
        return self._run(job, plan)[0]

    def races(self, job: Job, outcome: Outcome) -> tuple[str, ...]:
        """Return which messages race in a run that differs from the usual one, with the lines that sent them. The
        run is repeated, as looking for lines takes time."""
        if not any(one.choice.kind == MATCH for one in outcome.deviations):
            return ()
        again, places = self._run(job, outcome.plan, sites=True)
        return tuple(line for one in again.deviations if (line := _race(one, places)))

    def _run(
        self, job: Job, plan: Sequence[Choice] | frozenset[Choice], sites: bool = False
    ) -> tuple[Outcome, Mapping[Message, str]]:
        """Run a job by a plan. With `sites`, return the places of its sends too."""
        with tempfile.TemporaryDirectory(prefix="lanai-explore-") as name:
            folder = Path(name)
            (folder / PLAN).write_text(json.dumps(list(plan)))
            if sites:
                (folder / SITES).touch()
            planned = job.but(environment={**job.environment, ENV_ORDERS: name})
            begin, before = time.time_ns(), self._spent()
            result = Run(planned, servers=self._servers, own_time=True).execute()
            if result.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            files = {} if self._written is None else self._written.since(begin)
            made = tuple(read(folder, job.ranks))
            seconds = job.max_wall if result.ending is Ending.WALL_LIMIT else self._spent() - before
            outcome = Outcome(frozenset(plan), made, result, threads(folder, job.ranks), files, seconds)
            return outcome, sends(folder, job.ranks)

    def _spent(self) -> float:
        """Return the processor time of this process and of those that run ranks, as far as it is known."""
        return sum(os.times()[:4]) + self._servers.spent()

    def ahead(self, job: Job, plans: Iterable[frozenset[Choice]]) -> None:
        """Runs by these plans are going to be asked for."""

    def close(self) -> None:
        """End the process that ranks were forked from."""
        self._servers.close()


def _race(one: Made, places: Mapping[Message, str]) -> str:
    """Return a line on the message that a wildcard took and the one that it usually takes."""
    ids, rank = dict(one.ids), one.choice.rank
    said = []
    for sender in (one.choice.value, one.usual):
        site = places.get((sender, rank, ids.get(sender, -1)), "")
        said.append(f"rank {sender}{f' at {place_of_site(site)}' if site else ''}")
    if one.choice.kind != MATCH or said[0] == said[1]:
        return ""
    at = f" at {one.place}" if one.site else ""
    return f"{said[0]} and {said[1]} send messages that race for the receive of rank {rank}{at}"


def job_of(program: Sequence[str], ranks: int, **how: Any) -> Job:
    """Return the job of a run in which messages take next to no time."""
    return Job(program, ranks, DEVICE, options=OPTIONS, **how)


# Failures of runs: a wrong end, or another output than that of the usual run; and the same failure by fewer changed
# choices.


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
