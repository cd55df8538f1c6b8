"""All rules on one run: the findings, without those that only follow from others."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..job.result import Ending, Result
from . import collectives, freedoms, messages, outcome, windows
from .finding import Finding, Kind, PythonNames, told_once
from .records import Order, Rank

FOUND = 10  # the exit code of a check that has findings
_COLLECTIVE = (Kind.ORDER, Kind.ROOT, Kind.OPERATION, Kind.SIGNATURE)


@dataclass
class Verdict:
    """The findings of a check.

    Members:
        unseen: what it has not looked at, in sentences.
        code: the program's own exit code.
        failed: by what a program that failed has ended, after the word "failed"; empty if it ended well.
        ran: the program could be started.
        sends: standard sends that may wait or not.
        freedoms: others that MPI leaves to a library, and that the run has used.
        waits: the outcome of the run with sends that wait, in words.
        second: the run with sends that wait for their receives, if it has shown something.
    """

    findings: list[Finding]
    notes: list[Finding]
    unseen: list[str] = field(default_factory=list)
    code: int = 0
    failed: str = ""
    ran: bool = True
    second: Result | None = None
    sends: list[Finding] = field(default_factory=list)
    freedoms: list[Finding] = field(default_factory=list)
    waits: str = "not tried"

    @property
    def wrong(self) -> bool:
        return bool(self.findings)

    @property
    def exit_code(self) -> int:
        return FOUND if self.wrong else self.code

    @property
    def word(self) -> str:
        return "wrong" if self.wrong else "failed" if self.failed else "ok"

    def document(self) -> dict[str, object]:
        return {
            "verdict": self.word,
            "findings": [one.document() for one in self.findings],
            "notes": [one.document() for one in self.notes],
            "freedoms": [one.document() for one in (*self.sends, *self.freedoms)],
            "not_looked_at": self.unseen,
            "code": self.code,
            **({"failed": self.failed.lstrip(": ")} if self.failed else {}),
        }


def judge(ranks: Sequence[Rank], result: Result) -> Verdict:
    """Apply every rule to what the ranks have recorded."""
    paired = messages.Messages(ranks)
    lines = collectives.lines(ranks)
    of_memory = [*messages.of_windows(ranks), *messages.of_atomics(ranks)]
    order = Order(ranks, [*messages.of_messages(paired.pairs), *messages.of_collectives(lines, ranks), *of_memory])
    mixed = [*messages.mixed(paired, ranks)]
    found = [*collectives.mismatches(lines), *messages.mismatches(paired), *mixed, *outcome.of_ranks(ranks)]
    threads = any(rank.threads for rank in ranks)
    if order.complete and not threads:
        found += [*messages.ready(paired, order), *windows.races(ranks, order)]
    ended = bool(ranks) and all(rank.over for rank in ranks)
    if ended and result.ending is not Ending.DEADLOCK:
        found += collectives.missing(lines)
    errors = [one for one in outcome.errors(ranks) if not any(set(one.lines) & set(cause.lines) for cause in mixed)]
    found += _consequences(found, [*outcome.deadlock(result), *errors])
    found += [*outcome.crashes(result, ranks), *outcome.not_finalized(result)]
    if ended and result.code == 0:
        found += [*messages.not_received(paired), *outcome.leaks(ranks)]
    names = python_names(ranks)
    free = freedoms.of(paired, order, ranks)
    found = told_once(_without_dropped([*found, *free.noted()], names))
    found = [names.told(one) for one in found]
    sure = [one for one in found if not one.note]
    notes = [one for one in found if one.note]
    verdict = Verdict(sure, notes, _unseen(ranks, order, threads), result.code, outcome.failure(result))
    verdict.sends = [names.told(one) for one in free.sends]
    verdict.freedoms = [names.told(one) for one in (*free.wildcards, *free.tags, *free.others)]
    return verdict


def python_names(ranks: Sequence[Rank]) -> PythonNames:
    return PythonNames((call.name, call.line, call.python) for rank in ranks for call in rank.calls.values())


def _consequences(causes: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """Leave out deadlocks and errors in calls that do not fit together anyway."""
    wrong = {line for one in causes if one.kind in _COLLECTIVE and not one.note for line in one.lines}
    collective = any(one.kind in _COLLECTIVE and not one.note for one in causes)
    left = []
    for one in found:
        follows = collective and one.kind in (Kind.DEADLOCK, Kind.ERROR, Kind.TRUNCATION)
        if not (follows and (wrong & set(one.lines) or "MPI_Finalize" in one.calls or one.kind is Kind.DEADLOCK)):
            left.append(one)
    return left


def _without_dropped(found: Sequence[Finding], names: PythonNames) -> Iterator[Finding]:
    """Leave out what Python did to the buffer of a request that it has dropped, often by freeing it."""
    dropped = {one.lines[0] for one in found if one.kind is Kind.REQUEST}
    by_python = {line for (name, line) in names.calls if "send" in name.lower()}
    for one in found:
        if one.kind is Kind.REQUEST and one.lines[0] in by_python:
            text = f"{one.text}: its data may be freed or changed before it is sent"
            yield dataclasses.replace(one, text=text, hint="keep the request, and wait for it")
        elif one.kind not in (Kind.MODIFIED, Kind.IN_USE) or one.lines[0] not in dropped & by_python:
            yield one


def _unseen(ranks: Sequence[Rank], order: Order, threads: bool) -> list[str]:
    found = [] if ranks else ["the program: none of its processes has called MPI_Init"]
    if threads:
        found.append("buffers, ready sends and one-sided races: several threads call MPI")
    if not order.complete:
        found.append("ready sends and one-sided races: the run makes too many calls")
    if any(rank.full for rank in ranks):
        found.append("the end of the run: its records are too long")
    begins = any(any(rank.of("rma", "begins", "done")) for rank in ranks)
    if begins and not any(any(rank.of("touches")) for rank in ranks):
        found.append("loads of buffers and windows, which `lanai mpicc --check` lets it see in C")
    if any(record["k"] == "win" and record.get("shared") for rank in ranks for record in rank.others):
        found.append("loads and stores of memory that MPI_Win_allocate_shared shares")
    return found
