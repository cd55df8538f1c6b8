"""Sends and receives under way: the memory that each lends to the NIC, what a record says of their end, and those for
which the NIC has no room."""

import struct
from collections import OrderedDict
from dataclasses import dataclass, field
from zlib import crc32

from lanai_firmware.programs.mpi_np.layout import Error

from ...body import Body
from ...bus.base import PAGE_SIZE, Bus, BusError, HostBuffer, Pinned
from ...config import HostConfig, HostCost
from ...device import Pending, SendMode
from ...host_model import meter
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Operation
from ..pinning import Piece, Pins, pieces_of, pieces_of_run

# The memory of one operation, as the NIC must be told: pinned user memory, or a bounce buffer.
#
# Data in few runs go straight from and to the program's memory (NP-38). Data in many small runs, as strided datatypes
# give, are gathered in a bounce buffer by the processor, because a page entry for every few bytes would cost the NIC
# more.


SHORTEST_RUN = 512  # bytes that runs must have on average to be worth a piece each
INLINE_PIECES = 2
MOST_BYTES = (
    96 << 20
)  # lent to sends, and as much to receives; the rest of a process's bus addresses is for buffers and kept pages
PACKET = 4096
PLACE = struct.Struct("<QQ")


def pages(body: Body) -> int:
    """Bytes of the pages that a body lies in, at most."""
    return body.size + 2 * PAGE_SIZE * body.runs


@dataclass
class Hold:
    """Memory lent to the NIC for one operation."""

    body: Body
    outgoing: bool
    pieces: list[Piece] = field(default_factory=list)
    pins: list[Pinned] = field(default_factory=list)
    bounce: HostBuffer | None = None
    entries: list[int] = field(default_factory=list)  # in the page table


class Memory:
    """Lends memory to the NIC and takes it back.

    Sends and receives have `most` bytes each, in whole pages, which is also the longest message:
    neither can take the page table or the bus addresses that the other needs for a message to move
    at all.
    """

    def __init__(self, bus: Bus, config: HostConfig, page_entries: int) -> None:
        self.bus = bus
        self.most = min(MOST_BYTES, (page_entries // 2 - 1) * config.pages_per_entry * PAGE_SIZE)
        self.pins = Pins(bus, config)
        self.bounces: dict[int, list[HostBuffer]] = {}
        self.lent = {True: 0, False: 0}  # bytes of pinned pages, by direction: outgoing or not
        self.placement = 0  # see `Device.placement`
        self.copied = 0  # bytes that the processor copied and has not paid for

    def lend(self, body: Body, outgoing: bool, bounce: bool = False) -> Hold:
        """Make the bytes reachable for the NIC. `bounce` asks for a copy even where pinning would
        do."""
        hold = Hold(body, outgoing)
        if not body.size:
            return hold
        if not bounce and self._worth_pinning(body):
            self._pin(hold)
            if body.size > PACKET or len(hold.pieces) <= INLINE_PIECES:
                return hold
            self._unpin(hold)
        data = body.read() if outgoing else b""
        hold.bounce = self._bounce(body.size)
        hold.pieces = pieces_of_run(hold.bounce.bus_address, body.size)
        if outgoing:
            hold.bounce.view[: body.size] = data
            self.copied += body.size
        return hold

    def _worth_pinning(self, body: Body) -> bool:
        runs = body.runs
        return runs * SHORTEST_RUN <= body.size + SHORTEST_RUN and (runs == 1 or pages(body) <= self.most)

    def take_back(self, hold: Hold, received: int) -> None:
        """The NIC is done with the memory; `received` bytes at its start are new. Raises BusError,
        with the memory taken back, if they cannot be copied to where they belong."""
        bounce, hold.bounce = hold.bounce, None
        self._unpin(hold)
        if bounce is not None:
            self.bounces.setdefault(bounce.size, []).append(bounce)
            if received:
                self.copied += received
                hold.body.write(bounce.view[:received])

    def fits(self, body: Body, outgoing: bool) -> bool:
        """May these bytes be lent now? If not, they may when others have come back."""
        lent = self.lent[outgoing]
        return not lent or lent + pages(body) <= self.most

    def _pin(self, hold: Hold) -> None:
        placement = self.placement
        try:
            for address, size in hold.body.segments():
                pinned = self.pins.pin(address, size, not hold.outgoing)
                hold.pins.append(pinned)
                self.lent[hold.outgoing] += PAGE_SIZE * len(pinned.pages)
                hold.pieces += pieces_of(pinned, address, size)
                placement = crc32(PLACE.pack(address % PAGE_SIZE, size), placement)
        except BusError:
            self._unpin(hold)
            raise
        self.placement = placement

    def _unpin(self, hold: Hold) -> None:
        """The NIC is done with memory that had no copy."""
        for pinned in hold.pins:
            self.lent[hold.outgoing] -= PAGE_SIZE * len(pinned.pages)
            self.pins.release(pinned)
        hold.pins = []
        hold.pieces = []

    def _bounce(self, size: int) -> HostBuffer:
        """A buffer of at least a page, in sizes of powers of two so that they can be used again."""
        rounded = 1 << max(12, (size - 1).bit_length())
        kept = self.bounces.get(rounded)
        return kept.pop() if kept else self.bus.allocate(rounded)

    def work(self) -> list[tuple[HostCost, int]]:
        """Return the work of the host's processor since the last call."""
        work, self.pins.work = self.pins.work, []
        if self.copied:
            work = [*work, (HostCost.COPY, self.copied)]
            self.copied = 0
        return work


NO_ERROR = int(Error.OK)
ERRORS = {
    Error.TRUNCATED: ErrorKind.TRUNCATED,
    Error.BAD_ADDRESS: ErrorKind.BUS_ERROR,
    Error.BUS: ErrorKind.BUS_ERROR,
    Error.PEER_FAILED: ErrorKind.PEER_FAILED,
    Error.DAMAGED: ErrorKind.DAMAGED,
}


class Send(Operation):
    """A send under way."""

    __slots__ = ("body", "context", "dest", "hold", "mode", "size")

    def __init__(self, rank: int, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> None:
        super().__init__(rank, tag)
        self.dest = dest
        self.context = context
        self.body = body
        self.size = body.size
        self.mode = mode
        self.hold: Hold | None = None


class Receive(meter.Receive):
    """A receive under way."""

    __slots__ = ("hold", "index", "number", "placed", "wanted_source", "wanted_tag")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.wanted_source = source
        self.wanted_tag = tag
        self.placed = False  # on the NIC
        self.index = -1  # of its receive entry there
        self.number = 0  # by which the NIC reports it
        self.hold: Hold | None = None


def described(operation: Send | Receive) -> Pending:
    """An operation under way, for a report."""
    if isinstance(operation, Send):
        return Pending(True, operation.dest, operation.tag, operation.context, operation.size)
    source, tag = operation.wanted_source, operation.wanted_tag
    return Pending(False, source, tag, operation.context, operation.body.size)


def failure(error: int, operation: Operation, total: int) -> DeviceError | None:
    """A record's error as the device's, for the operation that ends with it. A truncated message has
    `total` bytes."""
    if error == NO_ERROR:
        return None
    kind = ERRORS.get(Error(error), ErrorKind.BAD_REQUEST)
    if kind is ErrorKind.DAMAGED:
        return DeviceError(kind, "its buffer could not be read, or the link damaged the body")
    if kind is ErrorKind.BUS_ERROR:
        return DeviceError(kind, str(unreachable(operation)))
    if kind is ErrorKind.TRUNCATED:
        return DeviceError(kind, f"(it has {total} bytes)")
    return DeviceError(kind, f"the NIC reports {Error(error).name}")


def unreachable(operation: Operation) -> BusError:
    """The error that names the operation's buffer, which the NIC found that it cannot reach."""
    if isinstance(operation, Send):
        return operation.body.unreadable()
    assert isinstance(operation, Receive)
    return operation.body.unwritable()


def finish(operation: Operation) -> None:
    """Nothing will change any more."""
    operation.done = True
    if isinstance(operation, Send) and operation.error is None:
        operation.length = operation.size


def fail(operation: Operation, kind: ErrorKind, text: str) -> None:
    """The operation ends with an error."""
    operation.error = DeviceError(kind, text)
    finish(operation)


# Messages and receives that the NIC has no room for, kept by the host (NP-G9, NP-50).
#
# The NIC's message slots and receive entries are few; MPI allows any number of either. What it cannot hold waits
# here, in this order of age within a channel: messages that the host holds before messages on the NIC; receives on
# the NIC before receives waiting here. A new receive therefore looks at the held messages first, and a newly held
# message at the waiting receives.


@dataclass(eq=False)
class HeldMessage:
    """A message taken off the NIC: its body, or the promise of one."""

    source: int
    tag: int
    context: int
    length: int
    data: bytes | None  # None: still at its sender,
    handle: int = 0  # ... who knows it by this
    order: int = 0  # the matcher's


class HostQueues(Matcher[Receive, HeldMessage]):
    """Both queues. `begun` has the receives that wait, in the order in which they were begun."""

    def __init__(self, meter: Meter) -> None:
        super().__init__(meter)
        self.begun: OrderedDict[Receive, None] = OrderedDict()

    def post(self, receive: Receive) -> None:
        super().post(receive)
        self.begun[receive] = None

    def withdraw(self, receive: Receive) -> None:
        super().withdraw(receive)
        del self.begun[receive]

    def meet(self, source: int, tag: int, context: int) -> Receive | None:
        receive = super().meet(source, tag, context)
        if receive is not None:
            del self.begun[receive]
        return receive

    def oldest(self) -> Receive:
        """Return the receive that was begun first of those that wait."""
        return next(iter(self.begun))
