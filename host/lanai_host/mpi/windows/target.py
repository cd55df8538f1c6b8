"""The target's side of a window: requests of other processes, done in the order in which each of
them sent them."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from ...body import NOTHING, Body, Run
from ...config import HostCost
from ...device import SendMode
from ...operation import Operation
from ..buffers import TypedScratch
from ..communicator import CALL, ONE_SIDED_DATA, Communicator
from ..constants import LockType
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import Scratch, array_at
from ..op import PREDEFINED, Op
from ..request import hold
from . import way
from .memory import MOST_COPIED, Access, Memory, Races
from .way import OP_NUMBERS, TYPES, Header, Kind, basic_number

# Combining what came with what lies at the target, element by element.

REPLACE, NO_OP = PREDEFINED["MPI_REPLACE"], PREDEFINED["MPI_NO_OP"]
_SWAPPED = frozenset({"integer", "fortran integer", "logical", "byte"})  # kinds that can be compared and swapped


def check(call: str, op: Op, count: int, datatype: Datatype, fetching: bool = False) -> int:
    """The operation may be used with the elements at the target, if there are any; their predefined
    type's number."""
    number = basic_number(datatype)
    if number is None:
        raise MpiError(
            ErrorClass.TYPE, f"{call}: target_datatype {datatype.name!r} is not made of one predefined datatype"
        )
    if id(op) not in OP_NUMBERS:
        raise MpiError(ErrorClass.OP, f"{call}: op is {op!r}; it must be a predefined operation")
    if op is NO_OP and not fetching:
        raise MpiError(ErrorClass.OP, f"{call}: op is MPI_NO_OP, which only calls that fetch may use")
    if count > 0 and op is not REPLACE and op is not NO_OP:
        op.check(call, TYPES[number])
    return number


def check_swap(call: str, datatype: Datatype) -> int:
    """The number of a datatype that MPI_Compare_and_swap takes."""
    number = basic_number(datatype) if datatype.predefined else None
    if number is None or TYPES[number].kind not in _SWAPPED:
        raise MpiError(
            ErrorClass.TYPE, f"{call}: the datatype is {datatype.name!r}; it must be an integer, a logical or MPI_BYTE"
        )
    return number


def combine(op: Op, basic: Datatype, source: int, size: int, address: int, count: int, datatype: Datatype) -> None:
    """target = target op source. `source` is `size` packed bytes of `basic`; the target `count` of
    `datatype`, made of `basic`."""
    if op is NO_OP or not size:
        return
    if op is REPLACE:
        datatype.unpack(source, address, count, 0, size)
        return
    elements = size // basic.size
    packed = Scratch(size)  # combined beside the window, so that memory that is not there is an error and no signal
    datatype.pack(address, count, packed.address, 0, size)
    if basic.dense:
        op.function(source, packed.address, elements, basic)
    else:
        held = _spread(packed.address, elements, basic)
        op.function(_spread(source, elements, basic).address, held.address, elements, basic)
        basic.pack(held.address, elements, packed.address)
    datatype.unpack(packed.address, address, count, 0, size)


def _spread(source: int, elements: int, basic: Datatype) -> TypedScratch:
    """Packed elements, each in its own layout."""
    held = TypedScratch(elements, basic)
    basic.unpack(source, held.address, elements)
    return held


def compare_and_swap(origin: int, compare: int, address: int, datatype: Datatype) -> Scratch:
    """The element that lay at `address`, where that of `origin` now lies if the one that lay there
    was `compare`'s."""
    size = datatype.size
    old = Scratch(size)
    datatype.pack(address, 1, old.address)
    if bytes(old.data[:size]) == bytes(array_at(compare, size, np.uint8)):
        datatype.unpack(origin, address, 1)
    return old


# The locks of one window at its target: who holds them, and who waits.


class Locks:
    """Granted in the order in which they were asked for, so that no one waits for ever: a shared
    lock does not overtake an exclusive one that waits."""

    def __init__(self) -> None:
        self._holders: dict[int, LockType] = {}
        self._waiting: deque[tuple[int, LockType, Callable[[], None]]] = deque()

    def request(self, rank: int, kind: LockType, grant: Callable[[], None]) -> None:
        """`grant()` is called once `rank` has the lock, perhaps at once."""
        self._waiting.append((rank, kind, grant))
        self._grant()

    def release(self, rank: int) -> None:
        del self._holders[rank]
        self._grant()

    def held_by(self, rank: int) -> bool:
        return rank in self._holders

    def _grant(self) -> None:
        while self._waiting:
            rank, kind, grant = self._waiting[0]
            shared = kind is LockType.SHARED and LockType.EXCLUSIVE not in self._holders.values()
            if self._holders and not shared:
                return
            self._waiting.popleft()
            self._holders[rank] = kind
            grant()


_DATA = frozenset(
    {Kind.ACCUMULATE, Kind.GET_ACCUMULATE, Kind.COMPARE_AND_SWAP, Kind.TYPE, Kind.SITE}
)  # need all data to begin
MOST_REFUSED = 200  # bytes of an answer that says what could not be done


class Fallback(Protocol):
    """A handler for sends that fail."""

    def if_it_fails(self, send: Operation, then: Callable[[], object]) -> None:
        """Call `then` if a send fails, now or later."""


class Entry:
    """A request that has come. `data` is where its data are or will be; `operation` the receive of
    what follows it."""

    __slots__ = ("data", "header", "held", "opened", "operation")

    def __init__(self, header: Header, data: int, held: object) -> None:
        self.header, self.data, self.held = header, data, held
        self.opened = bool(data) or not header.size or header.kind in (Kind.GET, Kind.LOCK)
        self.operation: Operation | None = None


class Target:
    """Ranks are those of the window's communicator.

    Attributes:
        posts: how often each rank has called MPI_Win_post for this one.
        completes: how often each has called MPI_Win_complete, and all that it did before is done.
        refused: what could not be done, by origin, until it is told.
    """

    races: Races | None = None  # where they are reported

    def __init__(self, communicator: Communicator, memory: Memory, fallback: Fallback) -> None:
        self.communicator = communicator
        self.memory = memory
        self.locks = Locks()
        self.posts: Counter[int] = Counter()
        self.completes: Counter[int] = Counter()
        self.refused: dict[int, str] = {}
        self._device = communicator.device
        self._fallback = fallback
        self._types: defaultdict[int, dict[int, Datatype]] = defaultdict(dict)
        self._sites: defaultdict[int, dict[int, str]] = defaultdict(dict)
        self._queues: defaultdict[int, deque[Entry]] = defaultdict(deque)

    # What has come

    def arrive(self, world: int, header: Header, data: int, held: object) -> None:
        """A request of the process of this rank in the world, with its data at `data` (0: they
        follow), which `held` keeps."""
        origin = self.communicator.group.position(world)
        queue = self._queues[origin]
        queue.append(Entry(header, data, held))
        self._run(origin, queue)

    @property
    def pending(self) -> bool:
        return any(self._queues.values())

    def advance(self) -> None:
        for origin, queue in self._queues.items():
            if queue:
                self._run(origin, queue)

    def operations(self) -> list[Operation]:
        """The receives that requests wait for."""
        return [entry.operation for queue in self._queues.values() for entry in queue if entry.operation is not None]

    def _run(self, origin: int, queue: deque[Entry]) -> None:
        while queue:
            entry = queue[0]
            if not entry.opened:
                self._open(origin, entry)
            if entry.operation is not None and not entry.operation.done:
                self._open_more(origin, queue)
                return
            queue.popleft()
            if entry.operation is not None:
                self._device.charge(CALL)
            self._do(origin, entry)

    def _open_more(self, origin: int, queue: deque[Entry]) -> None:
        """Let the data of later requests come too, as far as their datatypes are known."""
        for entry in queue:
            if not entry.opened:
                self._open(origin, entry)
            if entry.header.kind is Kind.TYPE:
                return

    def _open(self, origin: int, entry: Entry) -> None:
        """Receive what follows a request: into the window, or beside it if it must be combined."""
        header, entry.opened = entry.header, True
        if header.kind in _DATA or (header.kind is Kind.PUT and self.races is not None):
            scratch = Scratch(header.size)
            entry.data, entry.held = scratch.address, scratch
            body: Body = Run(scratch.address, header.size)
        else:
            datatype = self._datatype(origin, header)
            inside = self.memory.holds(header.offset, header.elements, datatype)
            body = datatype.body(self.memory.base + header.offset, header.elements) if inside else NOTHING
        world = self.communicator.route[origin]
        entry.operation = self._device.receive(world, way.data_tag(header.serial), ONE_SIDED_DATA, body)
        hold(entry.operation, (entry.held, self))

    def _datatype(self, origin: int, header: Header) -> Datatype:
        return way.TYPES[header.basic] if header.slot < 0 else self._types[origin][header.slot]

    # What is asked for

    def _do(self, origin: int, entry: Entry) -> None:
        header = entry.header
        kind, serial = header.kind, header.serial
        if entry.operation is not None and entry.operation.length < header.size and entry.operation.error is None:
            self._refuse(origin, header, "its data could not be read")
        elif entry.operation is not None and entry.operation.error is not None and kind is not Kind.PUT:
            self._refuse(origin, header, f"its data did not come: {entry.operation.error.text}")
        elif kind is Kind.TYPE:
            self._types[origin][header.slot] = way.decode(bytes(array_at(entry.data, header.size, "u1")))
        elif kind <= Kind.COMPARE_AND_SWAP:
            try:
                self._access(origin, entry)
            except MpiError as error:  # memory that cannot be reached: the origin's call fails, not one of this process
                self._refuse(origin, header, error.text)
        elif kind is Kind.SITE:
            self._sites[origin][header.slot] = bytes(array_at(entry.data, header.size, "u1")).decode(
                errors="surrogateescape"
            )
        elif kind is Kind.FLUSH:
            if header.op != way.FENCE:
                self.done(origin)
            self.tell(origin, serial)
        elif kind is Kind.LOCK:
            self.locks.request(origin, LockType(header.op), partial(self.tell, origin, serial))
        elif kind is Kind.UNLOCK:
            self.done(origin)
            self.locks.release(origin)
            if serial:
                self.tell(origin, serial)
        elif kind is Kind.POST:
            self.posts[origin] += 1
        else:
            self.completes[origin] += 1

    def _access(self, origin: int, entry: Entry) -> None:
        header = entry.header
        datatype = self._datatype(origin, header)
        if not self.memory.holds(header.offset, header.elements, datatype):
            self._refuse(origin, header, "outside the memory that is attached")
            return
        if self.races is not None:
            self.note(origin, self._sites[origin].get(header.site, ""), header, datatype)
        if header.kind is Kind.GET:
            self._answer(origin, header.serial, datatype.body(self.memory.base + header.offset, header.elements), self)
        elif header.kind is Kind.PUT:
            if entry.operation is not None and entry.operation.error is not None:
                self._refuse(origin, header, entry.operation.error.text)
            elif entry.operation is None or entry.data:  # else the device has put it there
                self.put(datatype, header.elements, header.offset, entry.data, header.size)
        else:
            self._combine(origin, entry, datatype)

    def _combine(self, origin: int, entry: Entry, datatype: Datatype) -> None:
        header = entry.header
        basic = way.TYPES[header.basic]
        if header.kind is Kind.COMPARE_AND_SWAP:
            old = self.compare_and_swap(basic, header.offset, entry.data, entry.data + basic.size)
            self._answer(origin, header.serial, Run(old.address, basic.size), old)
            return
        if header.kind is Kind.GET_ACCUMULATE:
            old = self.fetch(datatype, header.elements, header.offset)
            self._answer(origin, header.serial, Run(old.address, header.elements * datatype.size), old)
        self.accumulate(way.OPS[header.op], basic, datatype, header.elements, header.offset, entry.data, header.size)

    def _answer(self, origin: int, serial: int, body: Body, held: object) -> None:
        world = self.communicator.route[origin]
        answer = partial(self._device.send, world, way.answer_tag(serial), ONE_SIDED_DATA)
        operation = answer(body, SendMode.STANDARD)
        hold(operation, held)
        self._fallback.if_it_fails(operation, partial(answer, NOTHING, SendMode.STANDARD))

    def tell(self, origin: int, serial: int) -> None:
        """Answer that all is done, or what could not be."""
        text = self.refused.pop(origin, "").encode(errors="surrogateescape")[:MOST_REFUSED]
        scratch = Scratch(len(text))
        scratch.data[: len(text)] = bytearray(text)
        self._answer(origin, serial, Run(scratch.address, len(text)), scratch)

    def _refuse(self, origin: int, header: Header, why: str) -> None:
        """Something cannot be done. An origin that waits for data gets none; any other is told when
        it asks next."""
        if header.kind in (Kind.GET, Kind.GET_ACCUMULATE, Kind.COMPARE_AND_SWAP):
            self._answer(origin, header.serial, NOTHING, self)
            return
        where = f"displacement {header.offset:#x} of rank {self.communicator.rank}"
        self.refused.setdefault(origin, f"{header.elements} elements at {where}: {why}")

    # Races

    def watch(self, races: Races) -> None:
        """Tell `races` of every access."""
        self.races = races
        if not self.memory.dynamic and 0 < self.memory.size <= MOST_COPIED:
            races.watch_stores(self.memory, self.communicator.rank)

    def note(self, origin: int, call: str, header: Header, datatype: Datatype) -> None:
        """An operation takes effect."""
        if self.races is not None:
            access = Access(
                origin, call, header.kind, header.op, header.basic, _runs(datatype, header.elements, header.offset)
            )
            self.races.note(header.epoch, access, self.locks.held_by(origin))

    def _changed(self, datatype: Datatype, count: int, offset: int) -> None:
        """An operation has changed this memory."""
        if self.races is not None and self.races.stores is not None:
            self.races.stores.changed(_runs(datatype, count, offset))

    def done(self, origin: int) -> None:
        """An origin knows that all it has begun is done."""
        if self.races is not None:
            self.races.done(origin)

    # The memory

    def put(self, datatype: Datatype, count: int, offset: int, source: int, size: int) -> None:
        self._device.charge(HostCost.COPY, size)
        datatype.unpack(source, self.memory.base + offset, count, 0, size)
        self._changed(datatype, count, offset)

    def fetch(self, datatype: Datatype, count: int, offset: int) -> Scratch:
        """A copy of what lies there, packed."""
        size = count * datatype.size
        self._device.charge(HostCost.COPY, size)
        copy = Scratch(size)
        datatype.pack(self.memory.base + offset, count, copy.address)
        return copy

    def accumulate(
        self, op: Op, basic: Datatype, datatype: Datatype, count: int, offset: int, source: int, size: int
    ) -> None:
        self._device.charge(HostCost.REDUCE, size // basic.size)
        combine(op, basic, source, size, self.memory.base + offset, count, datatype)
        self._changed(datatype, count, offset)

    def compare_and_swap(self, basic: Datatype, offset: int, origin: int, compare: int) -> Scratch:
        self._device.charge(CALL)
        old = compare_and_swap(origin, compare, self.memory.base + offset, basic)
        self._changed(basic, 1, offset)
        return old


def _runs(datatype: Datatype, count: int, offset: int) -> tuple[tuple[int, int], ...]:
    """The (offset, bytes) that so many elements take."""
    return tuple(datatype.body(offset, count).segments())
