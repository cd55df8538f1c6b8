"""The ways in which a window reaches its targets: by messages (`messages`), or by a device's own remote memory.
Chosen when the window is made.

Nothing here blocks but through the `Waitable` that is returned, and nothing checks arguments or
epochs.
"""

import enum
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...body import Body, Run
from ...operation import DeviceError, Operation, Wait
from ...remote import Access, Atomic, Exposure, Reach, Remote
from ..communicator import Communicator
from ..constants import LockType
from ..datatypes import PREDEFINED, Datatype
from ..datatypes.layout import Layout, Leaf, Turn
from ..datatypes.signature import Signature
from ..errors import MpiError
from ..memory import Scratch, array_at
from ..op import PREDEFINED as OPERATIONS
from ..op import Op

# The messages of one-sided calls to their targets: requests, each a header with as much of its data as fits, and
# descriptions of datatypes.
#
# Requests of one process to another are taken in their order. Data that do not fit, and all
# answers, travel in a context of their own under the request's serial number.

EAGER = 4096  # bytes of data that go with a request
SLOTS = 64  # datatypes that a target remembers of each origin
NO_SLOT = -1
SERIALS = 1 << 30
EPOCHS = 1 << 16
SITES = 1 << 15
FENCE = 1  # `Header.op` of a flush that all processes do: what it completes still belongs to the epoch

OPS = tuple(OPERATIONS.values())  # by number
TYPES = tuple(PREDEFINED.values())
OP_NUMBERS = {id(op): number for number, op in enumerate(OPS)}
TYPE_NUMBERS = {id(datatype): number for number, datatype in enumerate(TYPES)}
BYTES = TYPE_NUMBERS[id(PREDEFINED["MPI_BYTE"])]
_BY_NAME = {name: number for number, name in enumerate(PREDEFINED)}


class Kind(enum.IntEnum):
    """The kind of a request."""

    TYPE = 0  # remember a datatype
    PUT = 1
    GET = 2
    ACCUMULATE = 3
    GET_ACCUMULATE = 4
    COMPARE_AND_SWAP = 5
    FLUSH = 6  # answer when all before this has been done
    LOCK = 7  # answered when granted
    UNLOCK = 8  # answered if it has a serial number
    POST = 9  # MPI_Win_post, to an origin
    COMPLETE = 10  # MPI_Win_complete
    SITE = 11  # remember where the program made a call, for the report of a race


class Header(NamedTuple):
    """The beginning of a request.

    Members:
        op: the operation of an accumulate, the type of a lock, or FENCE.
        basic: the predefined datatype of the elements at the target, which is the target's datatype
            unless `slot` names another.
        window: the context number of the window's communicator.
        serial: of the data that follow, or of the answer; 0: neither.
        elements: how many of the target's datatype.
        offset: bytes from the beginning of the target's memory.
        size: bytes of data that come with the request or follow it.
        epoch: how many fences the origin has passed, of EPOCHS.
        site: what the target remembers under this number is the call; 0: nothing.
    """

    kind: Kind
    op: int = 0
    basic: int = 0
    window: int = 0
    slot: int = NO_SLOT
    serial: int = 0
    elements: int = 0
    offset: int = 0
    size: int = 0
    epoch: int = 0
    site: int = 0


_KINDS = tuple(Kind)
_FORM = struct.Struct("<BBHHhIqqqHH")
HEADER = _FORM.size


def data_tag(serial: int) -> int:
    """The tag of the data that follow a request of this serial number."""
    return 2 * serial


def answer_tag(serial: int) -> int:
    """The tag of the answer to a request of this serial number: two processes may use one number
    for requests to each other."""
    return 2 * serial + 1


def pack(header: Header) -> bytes:
    return _FORM.pack(*header)


def unpack(data: bytes) -> Header:
    kind, *rest = _FORM.unpack(data)
    return Header(_KINDS[kind], *rest)


# Datatypes


def basic_number(datatype: Datatype) -> int | None:
    """The number of the predefined datatype that a datatype consists of; None if there are several,
    or none."""
    number = TYPE_NUMBERS.get(id(datatype))
    if number is not None:
        return number
    if datatype.signature.single is not None:
        return _BY_NAME[datatype.signature.single.name]
    found = {basic_number(part) for part in datatype.envelope.datatypes}
    return found.pop() if len(found) == 1 else None


def _numbers(datatype: Datatype) -> Iterator[int]:
    layout = datatype.layout
    yield from (datatype.size, datatype.lb, datatype.extent, layout.size, len(layout.leaves))
    for leaf in layout.leaves:
        yield from (leaf.length, leaf.offset, leaf.packed, len(leaf.stack))
        for turn in leaf.stack:
            yield from turn


def encode(datatype: Datatype) -> bytes:
    """A datatype's layout, as another process needs it."""
    return np.fromiter(_numbers(datatype), np.int64).tobytes()


def decode(data: bytes) -> Datatype:
    """The datatype of a layout that `encode` wrote."""
    numbers = iter(np.frombuffer(data, np.int64).tolist())
    size, lb, extent, total, leaves = (next(numbers) for _ in range(5))

    def leaf() -> Leaf:
        length, offset, packed, depth = (next(numbers) for _ in range(4))
        turns = tuple(Turn(next(numbers), next(numbers), next(numbers)) for _ in range(depth))
        return Leaf(length, offset, packed, turns)

    layout = Layout(tuple(leaf() for _ in range(leaves)), total)
    datatype = Datatype(lambda: (layout, Signature(())), size, lb, extent, name="of another process")
    datatype.commit()
    return datatype


class Buffer(NamedTuple):
    """Memory of the origin's."""

    address: int
    elements: int
    datatype: Datatype

    @property
    def size(self) -> int:
        """Bytes of data."""
        return self.elements * self.datatype.size

    def body(self) -> Body:
        return self.datatype.body(self.address, self.elements)


class Place(NamedTuple):
    """Memory of a target's: its rank, bytes from the beginning of what it exposes, elements.
    `basic` is the number of the predefined datatype that they consist of, where elements are
    combined."""

    rank: int
    offset: int
    elements: int
    datatype: Datatype
    basic: int = BYTES

    @property
    def size(self) -> int:
        return self.elements * self.datatype.size


class Pending:
    """Something that other processes, or this process's device, have yet to do: a `Waitable`. Done
    if there is nothing."""

    def __init__(self, why: Wait, operations: Iterable[Operation] = ()) -> None:
        self._why = why
        self._operations = [operation for operation in operations if not operation.done]

    def why(self) -> Wait:
        return self._why

    @property
    def done(self) -> bool:
        remaining = self._operations
        while remaining and remaining[-1].done:
            remaining.pop()
        return not remaining

    def operations(self) -> list[Operation]:
        return [operation for operation in self._operations if not operation.done]


class Transfer(Pending):
    """One operation of the program's: done when its local buffers are the program's again, and what
    it fetches is there."""

    def error(self, call: str) -> MpiError | None:
        """Return why it failed, once it is done."""
        return None


class Way(ABC):
    """Ranks are those of the window's communicator. `call` is the MPI function that reports name,
    `name` what they call the window."""

    name: str
    epoch = 0  # fences passed, of wire.EPOCHS

    def rename(self, name: str) -> None:
        """The program has named the window."""
        self.name = name

    @abstractmethod
    def put(self, call: str, origin: Buffer, target: Place) -> Transfer: ...

    @abstractmethod
    def get(self, call: str, origin: Buffer, target: Place) -> Transfer: ...

    @abstractmethod
    def accumulate(self, call: str, origin: Buffer, target: Place, op: Op) -> Transfer: ...

    @abstractmethod
    def get_accumulate(self, call: str, origin: Buffer, result: Buffer, target: Place, op: Op) -> Transfer: ...

    @abstractmethod
    def compare_and_swap(self, call: str, origin: Buffer, compare: Buffer, result: Buffer, target: Place) -> Transfer:
        """One element each."""

    @abstractmethod
    def flush_local(self, call: str, ranks: Iterable[int]) -> None:
        """Block until what was started to these targets is done locally. Raises the first error."""

    @abstractmethod
    def flush(self, call: str, ranks: Iterable[int], fence: bool = False) -> None:
        """Block until it is done at the targets too. Raises the first error. `fence`: all processes
        do, and then meet."""

    @abstractmethod
    def lock(self, call: str, rank: int, kind: LockType) -> None:
        """Block until a lock is granted."""

    @abstractmethod
    def unlock(self, call: str, ranks: Iterable[int]) -> None:
        """Complete all operations as `flush` does, and give locks back."""

    def pass_fence(self) -> None:
        """All ranks have come to the fence."""
        self.epoch = (self.epoch + 1) % EPOCHS

    @abstractmethod
    def post(self, ranks: Iterable[int]) -> None:
        """Tell these origins that the exposure epoch is open."""

    @abstractmethod
    def await_post(self, call: str, rank: int) -> None:
        """Block until the target's exposure epoch that matches the access epoch is open."""

    @abstractmethod
    def complete(self, call: str, ranks: Iterable[int]) -> None:
        """End an access epoch: as `flush_local`, and each target learns of it after all that was
        done to it."""

    @abstractmethod
    def exposed(self, call: str, ranks: Iterable[int]) -> Pending:
        """Done when these origins have ended their access epochs."""

    @abstractmethod
    def end_exposure(self, ranks: Iterable[int]) -> None:
        """They have; the next exposure epoch waits for their next end."""

    @abstractmethod
    def confirm(self, call: str) -> None:
        """Block until nothing that this process has sent is on its way any more."""

    @abstractmethod
    def close(self) -> None:
        """The window goes."""


# Words that the processes of a window keep for each other where their device reaches them.

WORD = 4
MASK = 0xFFFFFFFF
TAIL, STATE = 0, 1  # of the lock of this process's memory: the last in the queue, and who holds it
FIRST, PART = 2, 5  # the first of each rank's words, and how many there are
NEXT, TURN, GRANTED = 0, 1, 2  # what this process learns while it locks that rank's memory
POSTED, COMPLETED = 3, 4  # how often that rank has called MPI_Win_post and MPI_Win_complete for this process

Fail = Callable[[str, DeviceError, int], None]


class Words:
    """This process's words, which others write, and those of the others.

    Args:
        fail: raises the error of an operation on a rank.

    Attributes:
        segment: this process's own.
    """

    def __init__(self, communicator: Communicator, remote: Remote, fail: Fail) -> None:
        self._progress = communicator.progress
        self._remote = remote
        self._fail = fail
        self._reaches: Sequence[Reach] = ()
        self._watches: dict[int, Operation] = {}
        self.segment = remote.allocate(WORD * (FIRST + PART * communicator.size))
        self._own = array_at(self.segment.address, self.segment.size // WORD, np.uint32)
        self._own[:] = 0

    def expose(self) -> Exposure:
        """Let the others reach the words. Raises BusError if there is no room for that."""
        return self._remote.expose(self.segment.address, self.segment.size, Access.WRITE | Access.ATOMIC)

    def connect(self, reaches: Sequence[Reach]) -> None:
        """Learn where the words of each rank are."""
        self._reaches = reaches

    def get(self, rank: int, which: int) -> int:
        """One of this process's own words about a rank."""
        return int(self._own[_place(rank, which)])

    def set(self, rank: int, which: int, value: int) -> None:
        self._own[_place(rank, which)] = value

    def change(self, rank: int, word: int, what: Atomic, operand: int, why: Wait, compare: int = 0) -> int:
        """Change TAIL or STATE of a rank; what it was."""
        old = Scratch(WORD)
        with self._progress.lock:
            changed = self._remote.atomic(
                self._reaches[rank], WORD * word, what, WORD, operand & MASK, compare, old.address
            )
        self._wait(changed, rank, why)
        return int.from_bytes(old.data[:WORD].tobytes(), "little")

    def tell(self, to: int, rank: int, which: int, value: int, why: Wait) -> None:
        """Write the word about a rank that process `to` keeps."""
        data = Scratch(WORD)
        data.data[:] = np.frombuffer((value & MASK).to_bytes(WORD, "little"), np.uint8)
        with self._progress.lock:
            put = self._remote.put(self._reaches[to], WORD * _place(rank, which), Run(data.address, WORD))
        self._wait(put, to, why)

    def until_set(self, rank: int, which: int, why: Wait) -> None:
        """Until one of this process's own words is not 0."""
        while not self.get(rank, which):
            self._wait(self.changed(rank, which), rank, why)

    def changed(self, rank: int, which: int) -> Operation:
        """Done when one of this process's own words is not what it is now."""
        place = _place(rank, which)
        watch = self._watches.get(place)
        if watch is None or watch.done:
            with self._progress.lock:
                watch = self._remote.watch(self.segment, WORD * place, self._own[place : place + 1].tobytes())
            self._watches[place] = watch
        return watch

    def _wait(self, operation: Operation, rank: int, why: Wait) -> None:
        self._progress.wait(Pending(why, [operation]))
        if operation.error is not None:
            self._fail(why.call, operation.error, rank)


def _place(rank: int, which: int) -> int:
    return FIRST + PART * rank + which
