"""One run of a program by a plan."""

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lanai_host.orders import ENV_ORDERS, MATCH, PLAN, SEND, SITES, Choice

from ..job.job import Job
from ..job.launcher import Run
from ..job.result import Ending, Result
from ..job.warm import WarmServers
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
