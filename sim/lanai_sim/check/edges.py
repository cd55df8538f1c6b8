"""The edges of `order.Order`: which call ends only when others have begun."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from .collectives import Entry, Line
from .messages import Pair
from .order import Node
from .records import Rank

_FROM_ROOT = ("bcast", "scatter", "scatterv")
_TO_ROOT = ("reduce", "gather", "gatherv")
_ONE_WAY = ("scan", "exscan")
Edge = tuple[Node, Node]


def of_messages(pairs: Sequence[Pair]) -> Iterator[Edge]:
    for pair in pairs:
        sender, receiver = pair.sender, pair.receiver
        if pair.done is not None:
            yield (sender.rank, sender.number), (receiver.rank, pair.done)
        if pair.send["mode"] == "y" and pair.sent is not None:
            yield (receiver.rank, receiver.number), (sender.rank, pair.sent)


def of_collectives(lines: Sequence[Line], ranks: Sequence[Rank]) -> Iterator[Edge]:
    ended = _ended(ranks)
    for line in lines:
        for entries in line.rounds():
            if len({entry.name for entry in entries}) == 1:
                yield from _round(line, entries, ended)


def _ended(ranks: Sequence[Rank]) -> dict[Node, int]:
    """Return, by the call that began an operation, the call in which it was complete."""
    found: dict[Node, int] = {}
    for rank in ranks:
        began = {record["id"]: record["n"] for record in rank.of("begins", "send", "recv")}
        for record in rank.of("done"):
            if record["id"] in began:
                found[rank.rank, began[record["id"]]] = record["n"]
    return found


def _round(line: Line, entries: list[Entry], ended: dict[Node, int]) -> Iterator[Edge]:
    name = entries[0].name.removeprefix("MPI_").lower().removesuffix("_init")
    name = name[1:] if name.startswith("i") and "intercomm" not in name else name
    place = {rank: index for index, rank in enumerate(line.members or ())}
    root = entries[0].record.get("root")
    for target in entries:
        number = target.call.number
        end = ended.get((target.rank, number), number)
        for source in entries:
            if source is target or not _waits(name, place.get(target.rank), place.get(source.rank), root):
                continue
            yield (source.rank, source.call.number), (target.rank, end)


def _waits(name: str, target: int | None, source: int | None, root: int | None) -> bool:
    """Does `target` end only when `source` has begun?"""
    if name in _FROM_ROOT:
        return source == root
    if name in _TO_ROOT:
        return target == root
    if name in _ONE_WAY and source is not None and target is not None:
        return source < target
    return True


def of_windows(ranks: Sequence[Rank]) -> Iterator[Edge]:
    """MPI_Win_wait ends when the origins have called MPI_Win_complete; a lock is had when those before it
    were given back, of which one excludes the other."""
    completes: dict[tuple[str, int], list[tuple[int, Node]]] = defaultdict(list)
    unlocks: dict[tuple[str, int], list[tuple[int, Node, bool]]] = defaultdict(list)
    waits: list[tuple[str, Node, int]] = []
    takes: list[tuple[tuple[str, int], Node, bool, int]] = []
    for rank in ranks:
        groups: dict[str, list[int]] = {}
        held: dict[tuple[str, int], bool] = {}
        for record in rank.of("sync"):
            node, win, what = (rank.rank, record["n"]), record["win"], record["what"]
            begin, end = rank.calls[record["n"]].begin, rank.calls[record["n"]].end
            if what == "start":
                groups[win] = record.get("of", [])
            elif what == "complete":
                for target in groups.get(win, ()):
                    completes[win, target].append((begin, node))
            elif what in ("wait", "test"):
                waits.append((win, node, end or 0))
            elif what in ("lock", "unlock", "flush") and record.get("rank") is not None and record["rank"] >= 0:
                lock = (win, record["of"][record["rank"]])
                if what == "lock":
                    held[lock] = bool(record.get("exclusive"))
                if end is not None:
                    takes.append((lock, node, held.get(lock, False), end))
                if what == "unlock" and end is not None:
                    unlocks[lock].append((begin, node, held.pop(lock, False)))
    for win, node, end in waits:
        for begin, source in completes[win, node[0]]:
            if begin < end:
                yield source, node
    for lock, node, exclusive, end in takes:
        for begin, source, excludes in unlocks[lock]:
            if source[0] != node[0] and begin < end and (exclusive or excludes):
                yield source, node
