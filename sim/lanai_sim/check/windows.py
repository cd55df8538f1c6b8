"""Races of one-sided operations: two accesses to the same bytes, one of which changes them, that nothing
orders.

An access begins with its call and, if the target must open an epoch for it, not before that; it ends where
its origin's synchronization begins that completes it. Two accesses under locks of which one is exclusive
exclude each other. Operations that MPI keeps atomic together do not race.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .finding import Finding, Kind, at, finding
from .order import NEVER, Clock, Order
from .records import Call, Rank, Record

MOST_ACCESSES = 20_000  # to one rank's part of a window; beyond, later ones are not compared
Regions = Sequence[Sequence[int]]
_ATOMIC = ("acc", "gacc", "cas")


@dataclass
class Access:
    """`origin`'s access to bytes of a part of a window. `lock`: (number of the call that took it, it is
    exclusive); `until`: its origin's time at which it is done."""

    origin: int
    kind: str
    call: Call
    regions: Regions
    begin: Clock
    until: int
    op: str = ""
    basic: object = None
    lock: tuple[int, bool] | None = None

    @property
    def reads(self) -> bool:
        return self.kind in ("get", "load") or (self.kind == "gacc" and self.op == "MPI_NO_OP")

    @property
    def words(self) -> str:
        return f"{at(self.call.name, self.call.line)} of rank {self.origin}"


class Parts:
    """All accesses, by window and rank."""

    def __init__(self, ranks: Sequence[Rank], order: Order) -> None:
        self.accesses: dict[tuple[str, int], list[Access]] = defaultdict(list)
        self.labels: dict[str, str] = {}
        self._order = order
        self._fences: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._posts: dict[tuple[str, int, int], list[int]] = defaultdict(list)  # window, target, origin
        self.shared: set[str] = set()
        self.polled: set[str] = set()  # windows on which MPI_Win_sync is called: stores may be read so
        for rank in ranks:
            self._openings(rank)
        for rank in ranks:
            self._of(rank)

    def _openings(self, rank: Rank) -> None:
        for record in rank.of("win", "sync"):
            if record["k"] == "win":
                self.labels[record["win"]] = record["label"]
                if record.get("shared"):
                    self.shared.add(record["win"])
            elif record["what"] == "fence":
                self._fences[record["win"], rank.rank].append(record["n"])
            elif record["what"] == "post":
                for origin in record.get("of", ()):
                    self._posts[record["win"], rank.rank, origin].append(record["n"])
            elif record["what"] == "sync":
                self.polled.add(record["win"])

    def _of(self, rank: Rank) -> None:
        """Follow one rank's epochs."""
        fences: dict[str, int] = defaultdict(int)
        starts: dict[tuple[str, int], int] = defaultdict(int)
        started: dict[str, list[int]] = {}
        locks: dict[tuple[str, int | None], tuple[int, bool]] = {}
        open_: list[tuple[Access, str, int, int]] = []  # access, window, rank in it, operation
        ids: dict[int, int] = {record["n"]: record["id"] for record in rank.of("begins")}
        for record in rank.others:
            kind = record["k"]
            if kind == "rma" and rank.calls[record["n"]].end is None:
                continue  # it has ended the program by an error
            if kind == "rma":
                win, target = record["win"], record["target"]
                access = self._access(rank, record)
                opened = None
                if target in started.get(win, ()):
                    posts = self._posts[win, target, rank.rank]
                    number = starts[win, target] - 1
                    opened = posts[number] if number < len(posts) else None
                elif fences[win] and (win, record["rank"]) not in locks and (win, None) not in locks:
                    made = self._fences[win, target]
                    opened = made[fences[win] - 1] if fences[win] <= len(made) else None
                if opened is not None:
                    access.begin = self._joined(access.begin, self._order.begin.get((target, opened)))
                access.lock = locks.get((win, record["rank"]), locks.get((win, None)))
                self.accesses[win, target].append(access)
                open_.append((access, win, record["rank"], ids.get(record["n"], 0)))
            elif kind == "sync":
                win, what, held = record["win"], record["what"], record.get("rank")
                if what in ("fence", "complete", "unlock", "unlock_all", "flush", "flush_all", "free"):
                    one = what in ("unlock", "flush")
                    tick = self._order.tick((rank.rank, record["n"]))
                    left = []
                    for item in open_:
                        if item[1] == win and (not one or item[2] == held):
                            item[0].until = min(item[0].until, tick)
                        else:
                            left.append(item)
                    open_ = left
                if what == "fence":
                    fences[win] += 1
                elif what == "start":
                    started[win] = record.get("of", [])
                    for target in started[win]:
                        starts[win, target] += 1
                elif what == "complete":
                    started.pop(win, None)
                elif what in ("lock", "lock_all"):
                    locks[win, held] = (record["n"], bool(record.get("exclusive")))
                elif what in ("unlock", "unlock_all"):
                    locks.pop((win, held), None)
            elif kind == "done":
                tick = self._order.tick((rank.rank, record["n"]))
                for access, _, _, operation in open_:
                    if operation == record["id"] and access.kind in ("get", "gacc"):
                        access.until = min(access.until, tick)
            elif kind in ("use", "touch"):
                self._local(rank, record, locks)

    def _access(self, rank: Rank, record: Record) -> Access:
        call = rank.call(record)
        begin = self._order.begin.get((rank.rank, record["n"]), ())
        return Access(
            rank.rank, record["does"], call, record["at"], begin, NEVER, record.get("op", ""), record.get("basic")
        )

    def _local(self, rank: Rank, record: Record, locks: dict[tuple[str, int | None], tuple[int, bool]]) -> None:
        """A buffer of an MPI call, or a load or store, in this rank's own part."""
        win = record["win"]
        call, node = rank.call(record), (rank.rank, record["n"])
        begin = self._order.begin.get(node, ())
        if record["k"] == "touch":
            name = "a store" if record["writes"] else "a load"
            call = Call(rank.rank, record["n"], name, record["s"], call.begin, call.end)
            until = self._order.tick(node)
            begin = self._order.end.get((rank.rank, record["n"] - 1), begin)
        else:
            ended = self._order.end.get(node)
            until = NEVER if ended is None else self._order.own(node)
        access = Access(rank.rank, "store" if record["writes"] else "load", call, record["at"], begin, until)
        own = [lock for (name, _), lock in locks.items() if name == win]
        access.lock = own[0] if len(own) == 1 else None
        self.accesses[win, rank.rank].append(access)

    @staticmethod
    def _joined(one: Clock, other: Clock | None) -> Clock:
        return one if other is None or not one else tuple(map(max, one, other))


def races(ranks: Sequence[Rank], order: Order) -> Iterator[Finding]:
    parts = Parts(ranks, order)
    for (win, rank), accesses in parts.accesses.items():
        told: set[tuple[object, ...]] = set()
        for index, access in enumerate(accesses[:MOST_ACCESSES]):
            for other in accesses[:index]:
                byte = _race(access, other, order)
                if byte is None:
                    continue
                first, second = sorted((other, access), key=lambda one: one.call.begin)
                key = (first.call.name, first.call.line, second.call.name, second.call.line)
                if key in told:
                    continue
                told.add(key)
                unsure = win in parts.polled and {"load", "store"} & {first.kind, second.kind}
                text = (
                    f"{first.words} and {second.words} use byte {byte} of rank {rank}'s part of "
                    f"{parts.labels.get(win, 'a window')}, and nothing orders them"
                )
                hint = "end the first epoch and synchronize before the second access"
                yield finding(Kind.RACE, [first.call.side, second.call.side], text, hint, note=bool(unsure))


def _race(one: Access, other: Access, order: Order) -> int | None:
    if (one.reads and other.reads) or _atomic(one, other) or not one.begin or not other.begin:
        return None
    local = ("load", "store")
    if one.origin == other.origin and one.kind in local and other.kind in local:
        return None
    byte = _common(one.regions, other.regions)
    if byte is None or _excluded(one, other):
        return None
    if order.reached(one.origin, one.until, other.begin) or order.reached(other.origin, other.until, one.begin):
        return None
    return byte


def _excluded(one: Access, other: Access) -> bool:
    """Each holds a lock, and one of the locks is exclusive. One rank's own accesses under one lock are not
    excluded by it."""
    if one.lock is None or other.lock is None or not (one.lock[1] or other.lock[1]):
        return False
    return one.origin != other.origin or one.lock[0] != other.lock[0]


def _atomic(one: Access, other: Access) -> bool:
    """MPI keeps both whole, element by element, or in order."""
    if one.kind not in _ATOMIC or other.kind not in _ATOMIC or one.basic != other.basic:
        return False
    return (
        one.origin == other.origin
        or "cas" in (one.kind, other.kind)
        or one.op == other.op
        or "MPI_NO_OP" in (one.op, other.op)
    )


def _common(mine: Regions, others: Regions) -> int | None:
    """Return the first byte of both."""
    one, other = sorted(map(tuple, mine)), sorted(map(tuple, others))
    i = j = 0
    while i < len(one) and j < len(other):
        first = max(one[i][0], other[j][0])
        if first < min(one[i][1], other[j][1]):
            return int(first)
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return None
