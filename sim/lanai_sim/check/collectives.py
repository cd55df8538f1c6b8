"""Rules on collective calls: all ranks of a communicator make the same ones, in the same order, with
roots, operations and types that agree. The first rank that differs is told against the first that came."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..signatures import Runs, fits, words
from .finding import Finding, Kind, at, finding
from .records import Call, Rank, Record


class Entry(NamedTuple):
    """One rank's part in a collective call. `done`: the number of the call in which it was complete."""

    rank: int
    record: Record
    call: Call

    @property
    def name(self) -> str:
        return str(self.record["c"])

    @property
    def where(self) -> str:
        return at(self.name, self.call.line)


class Line(NamedTuple):
    """The collective calls on one communicator, by rank, each rank's in its order. `members` is None for an
    inter-communicator."""

    name: str
    label: str
    members: tuple[int, ...] | None
    calls: dict[int, list[Entry]]

    def rounds(self) -> Iterator[list[Entry]]:
        """Give what the ranks called as their first, second ... calls, the first that came first."""
        for number in range(max(map(len, self.calls.values()))):
            made = [calls[number] for calls in self.calls.values() if number < len(calls)]
            yield sorted(made, key=lambda entry: entry.call.begin)


def lines(ranks: Sequence[Rank]) -> list[Line]:
    found: dict[str, Line] = {}
    for rank in ranks:
        for record in rank.made("coll"):
            line = found.get(record["on"])
            if line is None:
                members = record.get("of")
                line = Line(
                    record["on"], record["label"], None if members is None else tuple(members), defaultdict(list)
                )
                found[record["on"]] = line
            line.calls[rank.rank].append(Entry(rank.rank, record, rank.call(record)))
    return list(found.values())


def mismatches(found: Sequence[Line]) -> Iterator[Finding]:
    for line in found:
        for entries in line.rounds():
            other = next((entry for entry in entries if entry.name != entries[0].name), None)
            if other is not None:
                yield _order(line, entries[0], other)
                break
            if line.members is not None:
                yield from _arguments(line, entries)


def missing(found: Sequence[Line]) -> Iterator[Finding]:
    """Calls that some ranks made and others never did, though the run has ended without a deadlock."""
    for line in found:
        if line.members is None:
            continue
        for entries in line.rounds():
            absent = [rank for rank in line.members if rank not in {entry.rank for entry in entries}]
            if entries[0].name in _FREES:
                continue  # that some do not call it is a leak
            if absent and all(entry.name == entries[0].name for entry in entries):
                first = entries[0]
                text = f"rank {first.rank} calls {first.where} on {line.label}, and rank {absent[0]} never does"
                yield finding(Kind.ORDER, [first.call.side], text, _HINT)
                break


_FREES = ("MPI_Comm_free", "MPI_Win_free")
_HINT = "let all ranks of the communicator make the same collective calls in the same order"


def _order(line: Line, first: Entry, other: Entry) -> Finding:
    text = (
        f"on {line.label}, rank {first.rank} calls {first.where}, and rank {other.rank} calls {other.where} "
        "as the same collective call"
    )
    return finding(Kind.ORDER, [first.call.side, other.call.side], text, _HINT)


def _arguments(line: Line, entries: list[Entry]) -> Iterator[Finding]:
    first = entries[0]
    for field, kind, words_ in (("root", Kind.ROOT, "root"), ("op", Kind.OPERATION, "operation")):
        wanted = first.record.get(field)
        other = next((entry for entry in entries if entry.record.get(field) != wanted), None)
        if other is not None:
            yield _differ(line, first, other, kind, f"{words_} {wanted}", f"{words_} {other.record.get(field)}")
            if kind is Kind.ROOT:
                return
    yield from _signatures(line, entries)


def _differ(line: Line, first: Entry, other: Entry, kind: Kind, mine: str, theirs: str) -> Finding:
    text = (
        f"on {line.label}, rank {first.rank} calls {first.where} with {mine}, "
        f"and rank {other.rank} calls {other.where} with {theirs}"
    )
    return finding(kind, [first.call.side, other.call.side], text, "pass the same on all ranks")


def _signatures(line: Line, entries: list[Entry]) -> Iterator[Finding]:
    first = entries[0]
    wanted: Runs = first.record.get("same", [])
    for other in entries[1:] if "same" in first.record else ():
        if fits(wanted, other.record["same"], whole=True) is False:
            yield _differ(line, first, other, Kind.SIGNATURE, words(wanted), words(other.record["same"]))
            return
        if first.record.get("counts") != other.record.get("counts"):
            mine, theirs = f"counts {first.record.get('counts')}", f"counts {other.record.get('counts')}"
            yield _differ(line, first, other, Kind.SIGNATURE, mine, theirs)
            return
    yield from _transfers(line, entries)


def _transfers(line: Line, entries: list[Entry]) -> Iterator[Finding]:
    """Compare what each rank sends with what the other expects of it."""
    assert line.members is not None
    place = {rank: index for index, rank in enumerate(line.members)}
    for sender in entries:
        for receiver in entries:
            sent = _part(sender.record, "send", place[receiver.rank])
            received = _part(receiver.record, "recv", place[sender.rank])
            if sent is None or received is None or not _talk(sender, receiver, place):
                continue
            if fits(sent, received, whole=True) is False:
                text = (
                    f"on {line.label}, rank {sender.rank} sends {words(sent)} to rank {receiver.rank} in "
                    f"{sender.where}, and rank {receiver.rank} expects {words(received)} in {receiver.where}"
                )
                hint = "let the counts and types of both sides agree"
                yield finding(Kind.SIGNATURE, [sender.call.side, receiver.call.side], text, hint)
                return


def _part(record: Record, which: str, other: int) -> Runs | None:
    """Return the signature of what goes to, or comes from, another rank."""
    many: Any = record.get(f"{which}s")
    if many is not None:
        return many[other] if other < len(many) else None
    return record.get(which)


def _talk(sender: Entry, receiver: Entry, place: dict[int, int]) -> bool:
    """Does the call carry anything from one to the other?"""
    root = sender.record.get("root")
    if root is None:
        return True
    if "catter" in sender.name:
        return bool(place[sender.rank] == root)
    return bool(place[receiver.rank] == root)
