"""Races: two accesses to the same bytes of a window in one epoch, of which one at least changes them.

They are accesses of two processes by MPI, or one of these and a store by the target's own program
(`stores` says which are seen). Two accumulates with one operation on one datatype do not race, because
the library keeps elements whole. Nor do accesses of which one is known to be done before the other began.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .memory import Memory
from .stores import LocalStores
from .wire import OPS, Kind

_NO_OP = next(number for number, op in enumerate(OPS) if op.name == "MPI_NO_OP")
_BY_ELEMENT = frozenset({Kind.ACCUMULATE, Kind.GET_ACCUMULATE, Kind.COMPARE_AND_SWAP})


class Watch(NamedTuple):
    """The reporting functions of a process whose races are reported: `report` takes a sentence, `place` gives the words
    for the call of MPI that the program is in.
    """

    report: Callable[[str], None]
    place: Callable[[str], str]


class Access(NamedTuple):
    """One operation of an origin: `call` says where, `runs` are (offset, bytes) in the target's
    memory."""

    origin: int
    call: str
    kind: Kind
    op: int
    basic: int
    runs: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        return f"{self.call} of rank {self.origin}"

    @property
    def reads(self) -> bool:
        """Nothing is changed."""
        return self.kind is Kind.GET or (self.kind is Kind.GET_ACCUMULATE and self.op == _NO_OP)

    def race(self, other: "Access") -> int | None:
        """The first byte on which two accesses race."""
        if self.origin == other.origin or (self.reads and other.reads) or self._whole_beside(other):
            return None
        return _common(self.runs, other.runs)

    def _whole_beside(self, other: "Access") -> bool:
        """Both go element by element, and MPI allows them together."""
        if self.kind not in _BY_ELEMENT or other.kind not in _BY_ELEMENT or self.basic != other.basic:
            return False
        return Kind.COMPARE_AND_SWAP in (self.kind, other.kind) or self.op == other.op or _NO_OP in (self.op, other.op)


def _common(runs: Iterable[tuple[int, int]], others: Iterable[tuple[int, int]]) -> int | None:
    """The first byte that two lists of runs share."""
    mine, theirs = sorted(runs), sorted(others)
    i = j = 0
    while i < len(mine) and j < len(theirs):
        (first, size), (second, length) = mine[i], theirs[j]
        if first < second + length and second < first + size:
            return max(first, second)
        if first + size < second + length:
            i += 1
        else:
            j += 1
    return None


class Races:
    """The accesses to one process's part of a window that are not known to be done. `window` is
    what reports call it."""

    def __init__(self, report: Callable[[str], None], window: str) -> None:
        self.window = window
        self.stores: LocalStores | None = None
        self._report = report
        self._rank = -1  # that stores here, where stores are watched
        self._epoch = 0
        self._open: list[Access] = []
        self._told: set[tuple[str, str]] = set()

    def watch_stores(self, memory: Memory, rank: int) -> None:
        """Report stores of this rank's program too."""
        self.stores = LocalStores(memory, lambda call, byte: self._tell(f"a store of rank {rank}", call, byte=byte))
        self._rank = rank

    def note(self, epoch: int, access: Access, passive: bool = False) -> None:
        """An operation takes effect that its origin began after `epoch` fences. What it began
        before is done everywhere. `passive`: the origin holds a lock."""
        if self.stores is not None and not passive:
            self.stores.access(access.name, access.runs, epoch, own=access.origin == self._rank)
        if epoch != self._epoch:
            self._epoch = epoch
            self._open.clear()
        for other in self._open:
            byte = other.race(access)
            if byte is not None:
                self._tell(other.name, access.name, byte=byte)
        self._open.append(access)

    def done(self, origin: int) -> None:
        """An origin knows that all it has begun is done."""
        self._open = [access for access in self._open if access.origin != origin]

    def closed(self) -> None:
        """The exposure epoch has ended."""
        self._open.clear()
        if self.stores is not None:
            self.stores.close()

    def _tell(self, *calls: str, byte: int) -> None:
        """Report a pair of calls, once."""
        one, other = sorted(calls)
        if (one, other) not in self._told:
            self._told.add((one, other))
            self._report(f"{one} and {other} race for byte {byte} of {self.window}")
