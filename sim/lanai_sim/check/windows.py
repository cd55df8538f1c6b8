"""Races of one-sided operations: two accesses to the same bytes, one of which changes them, that nothing
orders.

An access begins with its call and, if the target must open an epoch for it, not before that; it ends where
its origin's synchronization begins that completes it. Two accesses under locks of which one is exclusive
exclude each other. Operations that MPI keeps atomic together do not race.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .finding import Finding, Kind, at, finding
from .records import NEVER, Call, Clock, Order, Rank, Record

MOST_OPEN = 2_000  # accesses to one rank's memory that a later one is compared with, the last ones
EACH = 64  # accesses after which those are left out that are done for all that come
Regions = Sequence[Sequence[int]]
_ATOMIC = ("acc", "gacc", "cas")


@dataclass
class Access:
    """`origin`'s access to memory of a rank by a window; `regions` are addresses there. `lock`: (number of the
    call that took it, it is exclusive); `until`: its origin's time at which it is done."""

    origin: int
    kind: str
    call: Call
    regions: Regions
    window: str
    begin: Clock
    until: int
    op: str = ""
    basic: Sequence[Any] | None = None  # its elements' type, and how far one lies behind the other
    lock: tuple[int, bool] | None = None
    began: int = NEVER  # its origin's time at which it began
    fetched: bool = False  # its origin had fetched the same place atomically before

    @property
    def reads(self) -> bool:
        return self.kind in ("get", "load") or (self.kind == "gacc" and self.op == "MPI_NO_OP")

    @property
    def words(self) -> str:
        return f"{at(self.call.name, self.call.line)} of rank {self.origin}"


class Parts:
    """All accesses, by the rank whose memory it is: windows of one rank may overlap."""

    def __init__(self, ranks: Sequence[Rank], order: Order) -> None:
        self.accesses: dict[int, list[Access]] = defaultdict(list)
        self.bases: dict[tuple[str, int], int] = {}
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
                self.bases[record["win"], rank.rank] = record["base"] if record["size"] else 0
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
        fetched: set[tuple[int, int]] = set()  # rank and address
        starts: dict[tuple[str, int], int] = defaultdict(int)
        started: dict[str, list[int]] = {}
        locks: dict[tuple[str, int | None], tuple[int, bool]] = {}
        open_: list[tuple[Access, str, int, int]] = []  # access, window, rank in it, operation
        ids: dict[int, int] = {record["n"]: record["id"] for record in rank.of("begins")}
        failed = {record["n"] for record in rank.of("error")}
        for record in rank.others:
            kind = record["k"]
            if kind == "rma" and (record["n"] in failed or rank.calls[record["n"]].end is None):
                continue
            if kind == "rma":
                win, target = record["win"], record["target"]
                access = self._access(rank, record)
                place = (target, access.regions[0][0] if access.regions else 0)
                access.fetched = place in fetched
                if access.kind in ("gacc", "cas"):
                    fetched.add(place)
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
                self.accesses[target].append(access)
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
        at = self._addresses(record, record["target"])
        op, basic = record.get("op", ""), record.get("basic")
        began = self._order.tick((rank.rank, record["n"]))
        return Access(rank.rank, record["does"], call, at, record["win"], begin, NEVER, op, basic, began=began)

    def _addresses(self, record: Record, rank: int) -> Regions:
        """Return the addresses of bytes that are counted from a window's base."""
        base = self.bases.get((record["win"], rank), 0)
        return sorted((begin + base, end + base) for begin, end in record["at"])

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
        at = self._addresses(record, rank.rank)
        access = Access(rank.rank, "store" if record["writes"] else "load", call, at, win, begin, until)
        own = [lock for (name, _), lock in locks.items() if name == win]
        access.lock = own[0] if len(own) == 1 else None
        self.accesses[rank.rank].append(access)

    @staticmethod
    def _joined(one: Clock, other: Clock | None) -> Clock:
        return one if other is None or not one else tuple(map(max, one, other))


def races(ranks: Sequence[Rank], order: Order) -> Iterator[Finding]:
    parts = Parts(ranks, order)
    for rank, accesses in parts.accesses.items():
        told: set[tuple[object, ...]] = set()
        for access, open_ in _with_earlier(accesses, order):
            for other in open_:
                byte = _race(access, other, order)
                if byte is None:
                    continue
                first, second = sorted((other, access), key=lambda one: one.call.begin)
                key = (first.call.name, first.call.line, second.call.name, second.call.line)
                if key in told:
                    continue
                told.add(key)
                win = first.window if first.kind not in ("load", "store") else second.window
                byte -= parts.bases.get((win, rank), 0)
                unsure = {first.window, second.window} & parts.polled and {"load", "store"} & {first.kind, second.kind}
                text = (
                    f"{first.words} and {second.words} use byte {byte} of rank {rank}'s part of "
                    f"{parts.labels.get(win, 'a window')}, and nothing orders them"
                )
                hint = "end the first epoch and synchronize before the second access"
                yield finding(Kind.RACE, [first.call.side, second.call.side], text, hint, note=bool(unsure))


def _with_earlier(accesses: list[Access], order: Order) -> Iterator[tuple[Access, list[Access]]]:
    """Give each access with the earlier ones that are not known to be done."""
    accesses = sorted((one for one in accesses if one.begin), key=lambda one: one.call.begin)
    open_: list[Access] = []
    for index, access in enumerate(accesses):
        if index % EACH == 0:
            coming: dict[int, Clock] = {}
            for later in reversed(accesses[index:]):
                coming[later.origin] = later.begin
            open_ = [one for one in open_ if not _done_for(one, coming.values(), order)][-MOST_OPEN:]
        yield access, open_
        open_.append(access)


def _done_for(one: Access, clocks: Iterable[Clock], order: Order) -> bool:
    return all(order.reached(one.origin, one.until, clock) for clock in clocks)


def _race(one: Access, other: Access, order: Order) -> int | None:
    if (one.reads and other.reads) or _atomic(one, other) or not one.begin or not other.begin:
        return None
    local = ("load", "store")
    if one.origin == other.origin and one.kind in local and other.kind in local:
        return None
    byte = _common(one.regions, other.regions)
    if byte is None or _excluded(one, other):
        return None
    if _seen(one, other, order) or _seen(other, one, order):
        return None
    if order.reached(one.origin, one.until, other.begin) or order.reached(other.origin, other.until, one.begin):
        return None
    return byte


def _excluded(one: Access, other: Access) -> bool:
    """Each holds a lock, and one of the locks is exclusive. One rank's own accesses under one lock are not
    excluded by it."""
    if one.window != other.window or not one.lock or not other.lock or not (one.lock[1] or other.lock[1]):
        return False
    return one.origin != other.origin or one.lock[0] != other.lock[0]


def _seen(one: Access, other: Access, order: Order) -> bool:
    """The other's origin has fetched the place that `one` changes atomically, and knows of it: it may have waited for
    its value."""
    if one.kind not in _ATOMIC or other.kind not in _ATOMIC or not other.fetched:
        return False
    return one.regions[:1] == other.regions[:1] and order.reached(one.origin, one.began, other.begin)


def _atomic(one: Access, other: Access) -> bool:
    """MPI keeps both whole, element by element, or in order."""
    if one.kind not in _ATOMIC or other.kind not in _ATOMIC or one.basic is None or one.basic != other.basic:
        return False
    if not _aligned(one.regions, other.regions, one.basic[1]):
        return False
    return (
        one.origin == other.origin
        or "cas" in (one.kind, other.kind)
        or one.op == other.op
        or "MPI_NO_OP" in (one.op, other.op)
    )


def _aligned(one: Regions, other: Regions, unit: int) -> bool:
    """No element of one covers a part of an element of the other."""
    i = j = 0
    while i < len(one) and j < len(other):
        shared = max(one[i][0], other[j][0]) < min(one[i][1], other[j][1])
        if shared and (one[i][0] - other[j][0]) % unit:
            return False
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return True


def _common(one: Regions, other: Regions) -> int | None:
    """Return the first address of both; they are sorted."""
    if not one or not other or one[0][0] >= other[-1][1] or other[0][0] >= one[-1][1]:
        return None
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
