"""One run of a program by a plan."""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanai_host.orders import ENV_ORDERS, PLAN, SEND, Choice

from ..job.job import Job
from ..job.launcher import Run
from ..job.result import Ending, Result
from ..job.warm import WarmServers
from .records import Made, read

DEVICE, OPTIONS = "ideal", "unlimited"


@dataclass(frozen=True)
class Outcome:
    """A run: what was planned, what the ranks chose, and how it ended."""

    plan: frozenset[Choice]
    made: tuple[Made, ...]
    result: Result

    @property
    def missed(self) -> bool:
        """The plan could not be followed."""
        return any(one.missed is not None for one in self.made)

    @property
    def history(self) -> tuple[tuple[Choice, int | None], ...]:
        """What decides the run of a program that is deterministic by itself."""
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
    """Runs jobs one after the other. Their ranks, if they are Python's, share one process's imports."""

    def __init__(self) -> None:
        self._servers = WarmServers()

    def run(self, job: Job, plan: Sequence[Choice] | frozenset[Choice]) -> Outcome:
        """Run a job by a plan."""
        with tempfile.TemporaryDirectory(prefix="lanai-explore-") as name:
            folder = Path(name)
            (folder / PLAN).write_text(json.dumps(list(plan)))
            planned = job.but(environment={**job.environment, ENV_ORDERS: name})
            result = Run(planned, servers=self._servers).execute()
            if result.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            return Outcome(frozenset(plan), tuple(read(folder, job.ranks)), result)

    def ahead(self, job: Job, plans: Iterable[frozenset[Choice]]) -> None:
        """Runs by these plans are going to be asked for."""

    def close(self) -> None:
        """End the process that ranks were forked from."""
        self._servers.close()


def job_of(program: Sequence[str], ranks: int, **how: Any) -> Job:
    """Return the job of a run in which messages take next to no time."""
    return Job(program, ranks, DEVICE, options=OPTIONS, **how)
