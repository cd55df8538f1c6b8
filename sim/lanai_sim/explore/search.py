"""The orders of a program that are tried: the default one, then those that differ from it in one choice, in two,
and so on."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from lanai_host.c_module import preload
from lanai_host.clocks.library import ENV_DATE, PRELOAD, SEPARATORS, Clock, can_be_loaded
from lanai_host.orders import ALL, LAST, MATCH, SEND, TEST, WAITS, Choice

from ..job.job import Job
from ..units import counted
from .running import Failure, Outcome, Runner, differs, failure_of, minimized
from .schedule import Schedule

# The causes why a program differs between runs with the same choices: it is run again without one after the other.


DATE = 1_000_000_000  # seconds: what clocks show when a rank begins
OTHERS = "neither its clock nor random numbers of the system: files that it reads and writes, or other processes?"


def cause_of(job: Job, differs: Callable[[Job], str], threads: str) -> str:
    """Return the cause in words.

    Args:
        differs: runs a job twice, and says how the runs differ; empty if they do not.
        threads: which rank has several threads; empty if none has.
    """
    for name, changed in _trials(job):
        if not differs(changed):
            return f"the cause is {name}" + (f"; {threads}" if threads else "")
    return f"the cause is {f'threads: {threads}' if threads else OTHERS}"


def _trials(job: Job) -> Iterator[tuple[str, Job]]:
    """Give causes, each with the job without it."""
    fixed = preload("fixed_random", "", (__package__, "fixed_random"))
    loads = not set(str(fixed)) & set(SEPARATORS)
    before = job.environment.get(PRELOAD, os.environ.get(PRELOAD, ""))
    without_random = {**job.environment, PRELOAD: f"{fixed} {before}".strip()}
    dated = {ENV_DATE: str(DATE)}
    if can_be_loaded():
        timed = job.but(clock=Clock.SIMULATED, environment={**job.environment, **dated})
        yield "its clock: with simulated clocks the runs are equal", timed
    if loads:
        yield "random numbers of the system: with fixed ones the runs are equal", job.but(environment=without_random)
    if loads and can_be_loaded():
        both = job.but(environment={**without_random, **dated}, clock=Clock.SIMULATED)
        yield "its clock and random numbers of the system together", both


Plan = frozenset[Choice]
SINGLE = (SEND, TEST)  # kinds of choices of which each is changed alone, or all sends at once


@dataclass
class Budget:
    """The runs that a search may make, and the seconds that they may take (`Outcome.seconds`); those of each so far."""

    runs: int
    seconds: float
    spent: int = 0
    taken: float = 0.0

    @property
    def left(self) -> bool:
        return self.spent < self.runs and self.taken < self.seconds


@dataclass
class Search:
    """A search, and what it has found.

    Attributes:
        failures: the first run of each kind of failure, or the first only.
        repeated: runs whose histories another one had.
        missed: plans that could not be followed.
        pruned: alternatives that were left out, as they happen only after the choice.
        complete: no plan is left to try.
        single: kinds of choices of which a run had several, and of which only one was changed at a time.
        unsteady: how the program differs between runs with the same choices; empty if it does not.
    """

    job: Job
    budget: Budget
    outputs: bool = False
    all: bool = False
    failures: list[Failure] = field(default_factory=list)
    runs: int = 0
    repeated: int = 0
    missed: int = 0
    pruned: int = 0
    complete: bool = False
    single: set[str] = field(default_factory=set)
    unsteady: str = ""

    def run(self, runner: Runner, tell: Callable[[str], None] = lambda text: None) -> None:
        """Try plans until the budget is spent, a failure is found (unless `all`), or none is left."""
        waiting: deque[Plan] = deque([frozenset()])
        last: deque[Plan] = deque()  # of SINGLE kinds: tried when all else is
        planned: set[Plan] = {frozenset()}
        histories = set()
        usual: Outcome | None = None
        while (waiting or last) and self.budget.left:
            runner.ahead(self.job, chain(waiting, last))
            plan = waiting.popleft() if waiting else last.popleft()
            outcome = self._once(runner, plan)
            if usual is None:
                usual = outcome
                self._look_for_cause(runner, outcome, self._steady(runner, outcome))
            left = len(waiting) + len(last)
            changed, to_try = counted(len(plan), "changed choice"), counted(left, "more plan")
            tell(f"{counted(self.job.ranks, 'rank')}: run {self.runs}, {changed}; {to_try}")
            steady = usual if self.outputs and not self.unsteady else None
            failure = failure_of(outcome, steady)
            if failure is not None and self._found(runner, failure, steady):
                return
            self.missed += outcome.missed
            self.pruned += sum(len(one.after) for one in outcome.made)
            if outcome.history in histories:
                self.repeated += 1
                continue
            if _is_last(plan):
                continue
            histories.add(outcome.history)
            for queue, more in self._next(outcome, waiting, last):
                if more not in planned:
                    planned.add(more)
                    queue.append(more)
        self.complete = not waiting and not last

    def _once(self, runner: Runner, plan: Plan) -> Outcome:
        self.runs += 1
        self.budget.spent += 1
        outcome = runner.run(self.job, plan)
        self.budget.taken += outcome.seconds
        self.single |= _changed_alone(outcome)
        return outcome

    def _steady(self, runner: Runner, outcome: Outcome) -> str:
        """Repeat a run. Return how it differs."""
        schedule = Schedule.of(self.job, outcome.made, outcome.result)
        again = self._once(runner, frozenset(schedule.choices))
        return schedule.departure(again.made) or _unlike(outcome, again)

    def _look_for_cause(self, runner: Runner, outcome: Outcome, unsteady: str) -> None:
        """Say why a program differs between runs, if it does."""
        if not unsteady:
            return

        def differs(job: Job) -> str:
            first = runner.run(job, outcome.plan)
            again = runner.run(job, Schedule.of(job, first.made, first.result).choices)
            return Schedule.of(job, first.made, first.result).departure(again.made) or _unlike(first, again)

        self.unsteady = f"{unsteady}; {cause_of(self.job, differs, outcome.threads)}"

    def _found(self, runner: Runner, failure: Failure, usual: Outcome | None) -> bool:
        """Keep a failure that is not known, by as few changed choices as possible. Return whether the search ends."""
        if failure.head in [one.head for one in self.failures]:
            return False
        if not self.unsteady:
            failure = minimized(failure, lambda plan: self._once(runner, plan), usual)
            self._look_for_cause(runner, failure.outcome, self._steady(runner, failure.outcome))
            failure = replace(failure, races=runner.races(self.job, failure.outcome))
        self.failures.append(failure)
        return not self.all

    def _next(self, outcome: Outcome, waiting: deque[Plan], last: deque[Plan]) -> Iterator[tuple[deque[Plan], Plan]]:
        """Give the plans that differ from a run in one choice more, with where they wait."""
        plan = outcome.plan
        kept = {one[:3] for one in plan}
        ranks = sorted({one.choice.rank for one in outcome.made if one.choice.kind == SEND})
        if ranks and not any(one.kind == SEND for one in plan):
            yield waiting, plan | {Choice(ALL, SEND, ALL, WAITS)}
        open_ = [one for one in outcome.made if one.choice.kind == MATCH and one.others]
        senders = sorted({sender for one in open_ for sender in (one.choice.value, *one.others)})
        if len(senders) > 1 and all(one.number == ALL for one in plan):
            for sender in (*senders, LAST):
                yield waiting, plan | {Choice(ALL, MATCH, ALL, sender)}
        made = sorted(outcome.made, key=lambda made: (made.choice.number, made.choice.rank))
        for one in made:
            if one.choice.kind not in SINGLE and one.key not in kept:
                for value in one.others:
                    yield waiting, plan | {one.choice._replace(value=value)}
        if not plan:
            for rank in ranks if len(ranks) > 1 else ():
                yield last, plan | {Choice(rank, SEND, ALL, WAITS)}
            for one in made:
                if one.choice.kind in SINGLE:
                    yield last, plan | {one.choice._replace(value=WAITS)}


def _changed_alone(outcome: Outcome) -> set[str]:
    """Return the kinds of which not all choices of a run are tried together with its others. If it has one send, that
    is one of all sends. If it has one test and no other choice, there is nothing else."""
    kinds = [one.choice.kind for one in outcome.made if one.others or one.choice.kind in SINGLE]
    if kinds == [TEST]:
        return set()
    return {kind for kind in SINGLE if kinds.count(kind) > (kind == SEND)}


def _is_last(plan: Plan) -> bool:
    """Return whether no plans are made from this one: it changes one choice of a SINGLE kind, or all wildcards."""
    return any(one.rank != ALL if one.kind in SINGLE else one.number == ALL for one in plan)


def _unlike(outcome: Outcome, again: Outcome) -> str:
    one, other = outcome.result, again.result
    if (one.ending, one.code) != (other.ending, other.code):
        return f"it has ended by {one.ending} (code {one.code}), and then by {other.ending} (code {other.code})"
    return differs(outcome, again)


# The report of a search, in words.


def lines_of(failure: Failure, path: str) -> Iterator[str]:
    """Give the lines on a failure, whose schedule is in a file."""
    outcome = failure.outcome
    plan = outcome.plan
    how = "in the default order" if not plan else f"with {counted(len(plan), 'choice')} changed"
    yield f"{counted(len(outcome.result.outputs), 'rank')}: {failure.kind} {how}"
    if any(one.kind == SEND and one.rank == ALL for one in outcome.plan):
        yield "  changed: all standard sends wait for their receives"
    else:
        for rank in sorted(one.rank for one in outcome.plan if one.kind == SEND and one.number == ALL):
            yield f"  changed: standard sends of rank {rank} wait for their receives"
    for made in outcome.deviations:
        yield f"  changed: {made.words()}"
    yield from (f"  {line}" for line in failure.races)
    for line in failure.text.splitlines():
        yield f"  {line}"
    yield f"  repeat it: lanai run --replay {path}"


def closing(search: Search) -> str:
    """Return the line on how much was tried."""
    ranks, runs = counted(search.job.ranks, "rank"), counted(search.runs, "run")
    notes = [f"{search.repeated} repeated another one's history"] if search.repeated else []
    if search.pruned:
        notes.append(f"{counted(search.pruned, 'alternative')} cannot be")
    more = f" ({', '.join(notes)})" if notes else ""
    if search.failures:
        return f"{ranks}: {len(search.failures)} found in {runs}{more}"
    what = _tried(search) if search.complete else "nothing found before the budget was spent"
    return f"{ranks}: {what}: {runs}{more}"


def _tried(search: Search) -> str:
    single = [words for kind, words in ((SEND, "sends"), (TEST, "tests")) if kind in search.single]
    if not single:
        return "every order was tried"
    return f"every order of receives was tried, {' and '.join(single)} one by one"
