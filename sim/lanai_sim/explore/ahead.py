"""Runs by plans that a search is going to ask for, made by workers meanwhile, and runs that a journal keeps.

A search takes outcomes in an order of its own, so what it finds does not depend on how many workers there are.
"""

import atexit
import dataclasses
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from functools import cache
from itertools import islice
from typing import Any

from lanai_host.orders import Choice

from ..executors.journal import Journal, Point
from ..executors.place import LOCAL, Place
from ..executors.workers import Workers
from ..job.job import Job
from ..job.result import Result
from ..sources import program_digest
from .records import Made, Written
from .running import Outcome, Runner

Plan = frozenset[Choice]
ALONE = 6  # runs that are made here before workers are started: most failures are found in them
ELSEWHERE = 32  # runs at a time on machines whose number is not known


class AheadRunner(Runner):
    """Runs jobs, in workers too. `count`: the most runs that are asked for."""

    def __init__(
        self, place: Place, count: int, journal: Journal | None = None, written: Written | None = None
    ) -> None:
        super().__init__(written)
        self._place = place
        self._workers = Workers(run_one, place, count)
        self._most = 2 * place.count if place.on == LOCAL else place.jobs or ELSEWHERE
        self._under_way: dict[tuple[int, Plan], Future[Any]] = {}  # by job, which the search keeps
        self._journal = journal
        self._made = 0

    def run(self, job: Job, plan: Sequence[Choice] | Plan) -> Outcome:
        """Return the outcome of a run, which may have been made already."""
        self._made += 1
        point = _point(job, plan) if self._journal is not None else {}
        if self._journal is not None and (row := self._journal.find(point)) is not None:
            return _outcome(frozenset(plan), row.figures)
        future = self._under_way.pop((id(job), frozenset(plan)), None)
        outcome: Outcome = super().run(job, plan) if future is None else self._workers.result(future)
        self._workers.ended += future is None
        if self._journal is not None:
            self._journal.add(point, _values(outcome))
        return outcome

    def ahead(self, job: Job, plans: Iterable[Plan]) -> None:
        """Hand the next plans to workers. One worker at a time is this process."""
        if self._written is not None or self._place.here(2) or (self._place.on == LOCAL and self._made < ALONE):
            return
        for plan in islice(plans, self._most):
            if (id(job), plan) in self._under_way or len(self._under_way) >= self._most:
                continue
            if self._journal is None or self._journal.find(_point(job, plan)) is None:
                self._under_way[id(job), plan] = self._workers.submit((job, plan))

    def close(self) -> None:
        """End the workers, and what ranks are forked from."""
        self._workers.close()
        super().close()


def run_one(item: tuple[Job, Plan]) -> Outcome:
    """Return the outcome of a run, in a worker."""
    return _runner().run(*item)


@cache
def _runner() -> Runner:
    """The runner of this worker, for one run after the other."""
    runner = Runner()
    atexit.register(runner.close)
    return runner


def _point(job: Job, plan: Sequence[Choice] | Plan) -> Point:
    return {
        "job": json.loads(job.to_json()),
        "files": program_digest(job.program),
        "plan": [list(one) for one in (sorted(plan) if isinstance(plan, frozenset) else plan)],
    }


def _values(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON can hold it."""
    made = [dataclasses.asdict(one) for one in outcome.made]
    result = outcome.result.document()
    return {
        "made": made,
        "result": result,
        "threads": outcome.threads,
        "files": dict(outcome.files),
        "seconds": outcome.seconds,
    }


def _outcome(plan: Plan, values: Any) -> Outcome:
    made = tuple(map(_made, values["made"]))
    result = Result.from_json(json.dumps(values["result"]))
    return Outcome(plan, made, result, values["threads"], values["files"], values.get("seconds", 0.0))


def _made(values: dict[str, Any]) -> Made:
    ids = tuple((sender, number) for sender, number in values["ids"])
    lists = {name: tuple(values[name]) for name in ("others", "after")}
    return Made(**{**values, **lists, "choice": Choice(*values["choice"]), "ids": ids})
