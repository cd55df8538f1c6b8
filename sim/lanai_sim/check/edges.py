"""The edges of `order.Order`: which call ends only when others have begun."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

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


class Log:
    """Calls by what they are about and by rank, in the order of the machine's clock."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, dict[int, list[tuple[int, Node]]]] = defaultdict(lambda: defaultdict(list))

    def add(self, key: Hashable, begin: int, node: Node) -> None:
        self._calls[key][node[0]].append((begin, node))

    def last(self, key: Hashable, before: int, but: int) -> Iterator[Node]:
        """Give each other rank's last call that had begun by then. It knows all that its earlier ones knew."""
        for rank, calls in self._calls[key].items():
            place = bisect_left(calls, (before,))
            if rank != but and place:
                yield calls[place - 1][1]


def of_windows(ranks: Sequence[Rank]) -> Iterator[Edge]:
    """MPI_Win_wait ends when the origins have called MPI_Win_complete; a lock is had when those before it
    were given back, of which one excludes the other."""
    completes, unlocks = Log(), Log()
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
                    completes.add((win, target), begin, node)
            elif what in ("wait", "test"):
                waits.append((win, node, end or 0))
            elif what in ("lock", "unlock", "flush") and record.get("rank") is not None and record["rank"] >= 0:
                lock = (win, record["of"][record["rank"]])
                if what == "lock":
                    held[lock] = bool(record.get("exclusive"))
                if end is not None:
                    takes.append((lock, node, held.get(lock, False), end))
                if what == "unlock" and end is not None:
                    unlocks.add((lock, held.pop(lock, False)), begin, node)
    for win, node, end in waits:
        for source in completes.last((win, node[0]), end, node[0]):
            yield source, node
    for lock, node, exclusive, end in takes:
        for excludes in (True, False) if exclusive else (True,):
            for source in unlocks.last((lock, excludes), end, node[0]):
                yield source, node


def of_atomics(ranks: Sequence[Rank]) -> Iterator[Edge]:
    """A rank that fetches what others change atomically may wait for their values. It has one where its own
    synchronization ends next."""
    changes = Log()
    fetches: list[tuple[Hashable, Node, int]] = []
    for rank in ranks:
        waiting: list[tuple[str, int, int]] = []
        for record in rank.of("rma", "sync"):
            call = rank.calls[record["n"]]
            if record["k"] == "sync" and call.end is not None:
                fetches += [(key, (rank.rank, record["n"]), call.end) for key in waiting if key[0] == record["win"]]
                waiting = [key for key in waiting if key[0] != record["win"]]
            elif record["k"] == "rma" and record["does"] in ("acc", "gacc", "cas") and record["at"]:
                key = (record["win"], record["target"], record["at"][0][0])
                if record["does"] != "acc":
                    waiting.append(key)
                if record.get("op") != "MPI_NO_OP":
                    changes.add(key, call.begin, (rank.rank, record["n"]))
    for wanted, node, end in fetches:
        for source in changes.last(wanted, end, node[0]):
            yield source, node
