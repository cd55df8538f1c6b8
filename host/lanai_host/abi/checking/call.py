"""One MPI call as the recorder sees it: arguments by their C names, handles as objects."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ... import process_memory
from ...bus.base import BusError
from ...mpi.communicator import Communicator
from ...mpi.constants import BOTTOM, IN_PLACE
from ...mpi.datatypes import Datatype
from ...mpi.datatypes.signature import Signature
from ...mpi.windows import Window
from ..context import abi

# Memory as a list of (first address, address after the last), and what two such lists share.


MOST = 4096  # regions of one buffer; buffers in more pieces are not looked at
Regions = tuple[tuple[int, int], ...]


def regions_of(datatype: Datatype, address: int, count: int) -> Regions:
    """Return where `count` elements at `address` lie, in the order of the message."""
    if count <= 0 or datatype.size == 0:
        return ()
    body = datatype.body(address, count)
    if body.runs > MOST:
        return ()
    return tuple((start, start + size) for start, size in body.segments() if size)


def shared(mine: Regions, others: Regions) -> int | None:
    """Return the first address that both have; None if there is none."""
    one, other = sorted(mine), sorted(others)
    i = j = 0
    while i < len(one) and j < len(other):
        first = max(one[i][0], other[j][0])
        if first < min(one[i][1], other[j][1]):
            return first
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return None


def overlaps_itself(regions: Regions) -> bool:
    """Return if some byte is there twice."""
    ordered = sorted(regions)
    return any(before[1] > after[0] for before, after in itertools.pairwise(ordered))


def size_of(regions: Regions) -> int:
    return sum(end - begin for begin, end in regions)


def digest(regions: Regions) -> bytes | None:
    """Return a digest of the bytes there; None if they cannot be read."""
    found = hashlib.blake2b(digest_size=8)
    try:
        for begin, end in regions:
            found.update(process_memory.read(begin, end - begin))
    except BusError:
        return None
    return found.digest()


class Call:
    """`number` counts the rank's calls; `place` is where the program makes this one."""

    def __init__(self, number: int, name: str, place: str, names: list[str], arguments: list[Any]) -> None:
        self.number = number
        self.name = name
        self.place = place
        self.arguments = arguments
        self.index = {name: index for index, name in enumerate(names)}

    def raw(self, name: str) -> Any:
        return self.arguments[self.index[name]]

    def has(self, name: str) -> bool:
        return name in self.index

    def number_of(self, name: str) -> Any:
        """Return an argument as the library numbers it."""
        value = self.raw(name)
        numbers = abi.numbers.of(self.name, name) if abi.numbers else None
        return value if numbers is None else numbers.inward(value)

    def comm(self, name: str = "comm") -> Communicator:
        found: Communicator = abi.comms[self.raw(name)]
        return found

    def window(self) -> Window:
        found: Window = abi.wins[self.raw("win")]
        return found

    def datatype(self, name: str) -> Datatype:
        found: Datatype = abi.types[self.raw(name)]
        return found

    def in_place(self, name: str) -> bool:
        return bool(self.number_of(name) == IN_PLACE)

    def regions(self, address: str, count: str, datatype: str) -> Regions:
        """Return where the elements of a buffer lie."""
        at = self.number_of(address)
        return regions_of(self.datatype(datatype), 0 if at == BOTTOM else at, self.raw(count))

    def blocks(self, address: str, counts: list[int], displacements: list[int], types: list[Datatype]) -> Regions:
        """Return where the blocks of a call with a count for each rank lie; displacements in bytes."""
        at = self.number_of(address)
        found: list[tuple[int, int]] = []
        for count, displacement, datatype in zip(counts, displacements, types, strict=True):
            found += regions_of(datatype, at + displacement, count)
        return tuple(found)

    def ints(self, name: str, count: int) -> list[int]:
        return abi.ints(self.raw(name), count)


# Buffers that MPI owns: of operations that have begun and that the program has not completed.
#
# Each has a digest of its bytes as MPI left them. What the program stores into one is found at its next call. A store
# that leaves the bytes as they were is not seen, nor is a load.


MOST_WATCHED = 1 << 22  # bytes in flight; buffers beyond are compared when they end only


class Buffer(NamedTuple):
    """Memory that a call reads, or writes. `name` is the argument."""

    regions: Regions
    writes: bool
    name: str = ""


@dataclass
class Pending:
    """A buffer of an operation that `call` has begun at `place`. `keys`: what ends it."""

    buffer: Buffer
    call: str
    place: str
    number: int
    keys: frozenset[Hashable]
    watched: bool
    kept: bytes | None = None  # the digest


class Flight:
    """The buffers in flight. `watching` is off where other threads may be in the library."""

    def __init__(self) -> None:
        self.pending: list[Pending] = []
        self.watching = True
        self._size = 0

    def begin(
        self,
        buffers: Iterable[Buffer],
        call: str,
        place: str,
        number: int,
        keys: Iterable[Hashable],
        watch: bool = True,
    ) -> None:
        """An operation owns these buffers from now on."""
        for buffer in buffers:
            if buffer.regions:
                size = size_of(buffer.regions)
                watched = self.watching and watch and (not buffer.writes or self._size + size <= MOST_WATCHED)
                one = Pending(buffer, call, place, number, frozenset(keys), watched)
                if watched and not buffer.writes:
                    one.kept = digest(buffer.regions)
                self._size += size
                self.pending.append(one)

    def end(self, ends: Callable[[frozenset[Hashable]], bool]) -> None:
        """Operations are complete: those with keys of which this holds."""
        left = [one for one in self.pending if not ends(one.keys)]
        if len(left) != len(self.pending):
            self.pending = left
            self._size = sum(size_of(one.buffer.regions) for one in left)

    def regions(self) -> list[tuple[int, int]]:
        """Return all memory in flight."""
        return [region for one in self.pending for region in one.buffer.regions]

    def conflicts(self, buffer: Buffer) -> list[Pending]:
        """Return the buffers in flight that another call may not use so."""
        return [
            one
            for one in self.pending
            if (one.buffer.writes or buffer.writes) and shared(one.buffer.regions, buffer.regions) is not None
        ]

    def changed(self) -> list[Pending]:
        """Return the buffers that the program has stored into since MPI was left, each once."""
        found = []
        for one in self.pending:
            if one.watched and one.kept is not None:
                now = digest(one.buffer.regions)
                if now is not None and now != one.kept:
                    found.append(one)
                    one.watched = False
        return found

    def settle(self) -> None:
        """MPI is about to be left: what it has stored until now is not the program's doing."""
        for one in self.pending:
            if one.watched and one.buffer.writes:
                one.kept = digest(one.buffer.regions)


# Type signatures as the records have them: [[basic type, how many], ...], neighbours joined.
#
# Types that hold the same kind of number of the same size share a name, whatever their language calls them.


MOST_RUNS = 64  # that a record tells one by one; of longer ones it has a digest
Runs = list[list[object]]


def runs_of(datatype: Datatype, count: int) -> Runs:
    """Return the signature of `count` elements."""
    return [list(run) for run in _runs(datatype.signature, count)]


def basic_of(datatype: Datatype) -> list[object] | None:
    """Return the one basic type of a datatype, and from which byte to which its elements repeat; None if there are
    several."""
    single = datatype.signature.single
    if single is None:
        return None
    return [single.shared_name, single.size if single.dtype is None else single.dtype.itemsize]


@lru_cache(maxsize=1024)
def _runs(signature: Signature, count: int) -> tuple[tuple[object, ...], ...]:
    single = signature.single
    if single is not None:
        return ((single.shared_name, signature.elements * count),) if count else ()
    found: list[list[object]] = []
    for basic, repeat in signature.runs(count):
        name = basic.shared_name
        if found and found[-1][0] == name:
            found[-1][1] += repeat  # type: ignore[operator]
        elif repeat:
            found.append([name, repeat])
    if len(found) > MOST_RUNS:
        digest = hashlib.blake2b(repr(found).encode(), digest_size=8).hexdigest()
        return (("#" + digest, signature.elements * count),)
    return tuple(tuple(run) for run in found)


# Names of communicators and windows that all their ranks agree on, though numbers are used again.


class Identities:
    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Communicator, str] = WeakKeyDictionary()
        self._seen: Counter[tuple[int, str]] = Counter()

    def of(self, comm: Communicator) -> str:
        """Return the name: its number, its members and which communicator it is that had both."""
        name = self._known.get(comm)
        if name is None:
            groups = sorted({comm.group.members, comm.remote_group.members})
            members = hashlib.blake2b(repr(groups).encode(), digest_size=4).hexdigest()
            count = self._seen[comm.number, members]
            self._seen[comm.number, members] += 1
            name = self._known[comm] = f"{comm.number}.{members}.{count}"
        return name
