"""The memory of this process that a window exposes."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import array_at
from .way import OPS, Kind


def reach(offset: int, count: int, datatype: Datatype) -> tuple[int, int]:
    """First byte of `count` elements at `offset`, and the one after the last."""
    if not count or not datatype.size:
        return offset, offset
    first = offset + datatype.true_lb
    step = datatype.extent * (count - 1)
    return first + min(0, step), first + max(0, step) + datatype.true_extent


class Memory:
    """One stretch from `base` on, or the stretches that the program has attached to a dynamic
    window, by address."""

    def __init__(self, base: int, size: int, dynamic: bool) -> None:
        self.base = base
        self.size = size
        self.dynamic = dynamic
        self._attached: list[tuple[int, int]] = []  # (address, size), sorted

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._attached)

    def attach(self, call: str, address: int, size: int) -> None:
        """Stretches may not overlap."""
        index = bisect_right(self._attached, (address, size))
        for other, length in self._attached[max(0, index - 1) : index + 1]:
            if size and length and other < address + size and address < other + length:
                raise MpiError(
                    ErrorClass.RMA_ATTACH,
                    f"{call}: {size} bytes at {address:#x} overlap {length} bytes at {other:#x}, which are attached",
                )
        self._attached.insert(index, (address, size))

    def detach(self, call: str, address: int) -> None:
        for index, (other, _) in enumerate(self._attached):
            if other == address:
                del self._attached[index]
                return
        raise MpiError(ErrorClass.RMA_ATTACH, f"{call}: base is {address:#x}, where nothing is attached")

    def holds(self, offset: int, count: int, datatype: Datatype) -> bool:
        """Do `count` elements at `offset` bytes from the base lie in what is exposed?"""
        first, last = reach(offset, count, datatype)
        if first == last:
            return True
        if not self.dynamic:
            return first >= 0 and last <= self.size
        if self._covers(first, last):
            return True
        # A datatype with gaps may leave out what lies between two stretches.
        segments = datatype.body(offset, count).segments()
        return all(self._covers(address, address + size) for address, size in segments)

    def _covers(self, first: int, last: int) -> bool:
        """Is every byte attached? Stretches that touch count as one."""
        for address, size in self._attached:
            if address <= first < address + size:
                first = address + size
            if first >= last:
                return True
        return False


# Stores of a target's own program that race with accesses of an active epoch.
#
# The window's bytes are compared with a copy that follows the accesses. A byte that differs was stored
# by the program. Stores that leave a byte as it was are not seen, nor are loads, nor stores under
# passive synchronization, where the program may have ordered them by other means.

Runs = Iterable[tuple[int, int]]  # (offset, bytes)
MOST_COPIED = 1 << 28  # bytes; the stores to a larger window are not watched


class LocalStores:
    """The stores of one process to its part of a window.

    A fence is entered (`enter_fence`) before accesses of the epoch that it ends have all come, and
    left (`leave_fence`) when accesses of the next one may have come.
    """

    def __init__(self, memory: Memory, report: Callable[[str, int], None]) -> None:
        """`report` takes the call of an access and a byte that was stored to in its epoch."""
        self._memory = array_at(memory.base, memory.size, "u1")
        self._report = report
        self._copy = self._memory.copy()
        self._touched: list[tuple[str, tuple[tuple[int, int], ...]]] = []
        self._stored: npt.NDArray[np.bool_] | None = None  # in the epoch that the fence under way ends
        self._open = False
        self._epoch = 0

    def enter_fence(self, epoch: int) -> None:
        """The program stores nothing until `leave_fence`."""
        self._judge()
        self._epoch = epoch
        self._stored = self._memory != self._copy if self._open else np.zeros(0, bool)
        self._follow()

    def leave_fence(self) -> None:
        """The next epoch is open."""
        self._stored, self._open = None, True

    def open(self) -> None:
        """An exposure epoch begins; what was stored before it is over."""
        self._open = True
        self._follow()

    def close(self) -> None:
        """The exposure epoch has ended."""
        self._judge()
        self._open = False

    def access(self, call: str, runs: tuple[tuple[int, int], ...], epoch: int, own: bool) -> None:
        """An access of an active epoch is about to take effect. `own`: the program's own, which
        comes after what it has stored."""
        stored = self._stored
        if own:
            self.changed(runs)
            self._touched.append((call, runs))
        elif stored is not None and epoch == self._epoch:
            self._find(call, runs, lambda begin, end: stored[begin:end])
        elif self._open or stored is not None:
            self._find(call, runs, self._differs)
            self._touched.append((call, runs))

    def changed(self, runs: Runs) -> None:
        """An access has taken effect there."""
        for offset, size in runs:
            self._copy[offset : offset + size] = self._memory[offset : offset + size]

    def _follow(self) -> None:
        self._copy[:] = self._memory
        self._touched.clear()

    def _judge(self) -> None:
        """Report stores to what the epoch's accesses have touched."""
        for call, runs in self._touched:
            self._find(call, runs, self._differs)

    def _differs(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        differs: npt.NDArray[np.bool_] = self._memory[begin:end] != self._copy[begin:end]
        return differs

    def _find(self, call: str, runs: Runs, stored: Callable[[int, int], npt.NDArray[np.bool_]]) -> None:
        for offset, size in runs:
            found = np.flatnonzero(stored(offset, offset + size))
            if len(found):
                self._report(call, offset + int(found[0]))
                return


# Races: two accesses to the same bytes of a window in one epoch, of which one at least changes them.
#
# They are accesses of two processes by MPI, or one of these and a store by the target's own program
# (`stores` says which are seen). Two accumulates with one operation on one datatype do not race, because
# the library keeps elements whole. Nor do accesses of which one is known to be done before the other began.

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
