"""All rules on one run: the findings, without those that only follow from others."""

import dataclasses
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from lanai_host.mpi.constants import ANY_SOURCE, TAG_UB

from ..job.result import Ending, Result
from ..signatures import words
from ..units import counted
from . import collectives, messages, outcome, windows
from .finding import Finding, Kind, PythonNames, at, finding, merged
from .messages import Messages, Pair, takes
from .records import Call, Order, Rank, Record

# The freedoms of MPI that a run has used: other libraries, other machines or another time may choose otherwise, and
# the program is right only if it is right then too.

LEAST_TAG_UB = 32767
_ROUNDED = ("MPI_SUM", "MPI_PROD")  # operations on floating numbers whose order changes the last digits
_FLOATING = re.compile(r"[fc]\d+")  # names of basic types in records
_POLLS = ("MPI_Test", "MPI_Waitany", "MPI_Waitsome", "MPI_Improbe", "MPI_Request_get_status")


class Freedoms(NamedTuple):
    """The freedoms by what they are about."""

    sends: list[Finding]
    wildcards: list[Finding]
    tags: list[Finding]
    others: list[Finding]

    def noted(self) -> Iterator[Finding]:
        """Give those that each verdict notes: a wildcard, and tags."""
        for one in self.wildcards[:1]:
            more = len(self.wildcards) - 1
            text = one.text + (f" ({counted(more, 'more line')}: --portable)" if more else "")
            yield dataclasses.replace(one, text=text)
        yield from self.tags


def wildcards(messages: Messages, order: Order, ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Receives and probes from any source that could have had the message of another rank, each line once."""
    told = set()
    probes: dict[Hashable, list[tuple[Record, Call]]] = defaultdict(list)
    for rank in ranks:
        for record in rank.of("probe"):
            probes[record["comm"], rank.rank].append((record, rank.call(record)))
    by_receiver: dict[Hashable, list[Pair]] = defaultdict(list)
    for pair in messages.pairs:
        by_receiver[pair.send["comm"], pair.receiver.rank].append(pair)
    for key, pairs in by_receiver.items():
        pairs.sort(key=lambda pair: (pair.receiver.number, pair.receive["id"]))
        by_source: dict[int, list[tuple[int, Pair]]] = defaultdict(list)
        for place, pair in enumerate(pairs):
            by_source[pair.sender.rank].append((place, pair))
        for place, pair in [*enumerate(pairs), *_probed(probes[key], pairs)]:
            if pair.receive["want"] == ANY_SOURCE and pair.receiver.line not in told:
                other = _candidate(pair, place, by_source, order)
                if other is not None:
                    told.add(pair.receiver.line)
                    yield _wildcard(pair, other)


def _probed(probes: Sequence[tuple[Record, Call]], pairs: Sequence[Pair]) -> Iterator[tuple[int, Pair]]:
    """Give the places of messages that probes have chosen, and the messages as if the probes had taken them."""
    numbers = [pair.receiver.number for pair in pairs]
    for record, call in probes:
        for place in range(bisect_right(numbers, call.number), len(pairs)):
            pair = pairs[place]
            if (pair.sender.rank, pair.send["tag"]) == (record["from"], record["got"]):
                yield place, pair._replace(receive=record, receiver=call, done=call.number)
                break


def _candidate(pair: Pair, place: int, by_source: dict[int, list[tuple[int, Pair]]], order: Order) -> Pair | None:
    """Return a message that was received later, of another rank, and need not have been sent later."""
    receiver = pair.receiver
    ended = order.own((receiver.rank, pair.done)) if pair.done is not None else None
    for source, made in by_source.items():
        if source == pair.sender.rank:
            continue
        later = islice(made, bisect_right(made, place, key=itemgetter(0)), None)
        other = next((one for _, one in later if takes(pair.receive, one.send, source)), None)
        if other is None:
            continue
        known = order.begin.get((source, other.sender.number))
        if ended is None or known is None or not order.reached(receiver.rank, ended, known):
            return other
    return None


def _wildcard(pair: Pair, other: Pair) -> Finding:
    receiver, sender, late = pair.receiver, pair.sender, other.sender
    text = (
        f"rank {receiver.rank} took the message of rank {sender.rank} in {at(receiver.name, receiver.line)}, and could "
        f"have taken that of rank {late.rank}, sent in {at(late.name, late.line)}: `lanai explore` tries such orders"
    )
    return _freedom([receiver.side, late.side], text)


def sends(messages: Messages, order: Order) -> Iterator[Finding]:
    """Standard sends that nothing orders after their receives, by line."""
    by_line: dict[Hashable, list[Pair]] = defaultdict(list)
    for pair in messages.pairs:
        if pair.send["mode"] == "s" and not order.begun(pair.receiver, pair.sender):
            by_line[pair.sender.name, pair.sender.line].append(pair)
    for pairs in by_line.values():
        call, size = pairs[0].sender, max(pair.receive.get("bytes") or 0 for pair in pairs)
        text = (
            f"{at(call.name, call.line)} may be complete before its receive begins, or wait for it "
            f"({counted(len(pairs), 'message')}, up to {counted(size, 'byte')})"
        )
        yield _freedom([call.side], text)


def large_tags(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """The largest tag, if not every MPI library must allow it."""
    used = [(record["tag"], rank.call(record)) for rank in ranks for record in rank.made("send", "recv")]
    tag, call = max(used, key=lambda one: one[0], default=(0, None))
    if call is not None and tag > LEAST_TAG_UB:
        text = (
            f"rank {call.rank} uses the tag {tag:,} in {at(call.name, call.line)}: MPI promises tags up to "
            f"{LEAST_TAG_UB:,}, and this library and MPICH 5 have tags up to {TAG_UB:,}"
        )
        yield _freedom([call.side], text)


def threads(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """A second thread that calls MPI."""
    for rank in ranks:
        for record in rank.of("threads"):
            call = rank.calls.get(record["n"] - 1)
            where = f" in {at(call.name, call.line)}" if call is not None else ""
            text = f"several threads of rank {rank.rank} call MPI{where}: not every library has a thread level for it"
            yield _freedom([call.side] if call is not None else [], text)
            return


def reductions(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Reductions and accumulates whose result depends on the order, by line."""
    for _, (record, call) in _by_line(ranks, "coll"):
        op, same = record.get("op"), record.get("same", [])
        if op == "of MPI_Op_create":
            text = f"{at(call.name, call.line)} reduces by an operation of MPI_Op_create: libraries group it otherwise"
        elif op in _ROUNDED and any(_FLOATING.fullmatch(name) for name, _ in same):
            text = f"{at(call.name, call.line)} reduces {words(same)} by {op}: another order changes the last digits"
        else:
            continue
        yield _freedom([call.side], text)
    for _, (record, call) in _by_line(ranks, "rma"):
        if record.get("op") in _ROUNDED and _FLOATING.fullmatch((record.get("basic") or [""])[0]):
            where = at(call.name, call.line)
            text = f"{where} accumulates by {record['op']}: another order of ranks changes the last digits"
            yield _freedom([call.side], text)


def polls(ranks: Sequence[Rank]) -> Iterator[Finding]:
    """Calls whose answer depends on the time, by line."""
    told = set()
    for rank in ranks:
        for call in rank.calls.values():
            if call.name.startswith(_POLLS) and (call.name, call.line) not in told:
                told.add((call.name, call.line))
                yield _freedom([call.side], f"the answer of {at(call.name, call.line)} depends on the time")


def of(messages: Messages, order: Order, ranks: Sequence[Rank]) -> Freedoms:
    """Return the freedoms that a run has used."""
    found = [*polls(ranks), *reductions(ranks), *threads(ranks)]
    if not order.complete:
        return Freedoms([], [], [*large_tags(ranks)], found)
    return Freedoms([*sends(messages, order)], [*wildcards(messages, order, ranks)], [*large_tags(ranks)], found)


def _by_line(ranks: Sequence[Rank], kind: str) -> Iterator[tuple[Hashable, tuple[Record, Call]]]:
    found: dict[Hashable, tuple[Record, Call]] = {}
    for rank in ranks:
        for record in rank.made(kind):
            call = rank.call(record)
            found.setdefault((call.name, call.line), (record, call))
    yield from found.items()


def _freedom(sides: Sequence[tuple[int, str, str]], text: str) -> Finding:
    return finding(Kind.PORTABILITY, sides, text, "let the program be right whatever is chosen", note=True)


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
    free = of(paired, order, ranks)
    found = merged(_without_dropped([*found, *free.noted()], names))
    found = [names.replaced(one) for one in found]
    sure = [one for one in found if not one.note]
    notes = [one for one in found if one.note]
    verdict = Verdict(sure, notes, _unseen(ranks, order, threads), result.code, outcome.failure(result))
    verdict.sends = [names.replaced(one) for one in free.sends]
    verdict.freedoms = [names.replaced(one) for one in (*free.wildcards, *free.tags, *free.others)]
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
