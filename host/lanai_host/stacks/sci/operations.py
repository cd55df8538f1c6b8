"""Sends and receives under way, and messages that have arrived."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lanai_hdl.remote.packets import Op

from ... import process_memory
from ...adapter.boot import WINDOW
from ...adapter.fifo import Fifo, interrupt_price, work
from ...adapter.operation import Attachment
from ...adapter.remote import AdapterRemote, buffer_of
from ...adapter.transfers import Transfer
from ...body import Body, Run
from ...bus.base import PAGE_SIZE, Bus, BusError, Watched
from ...config import HostConfig, HostCost
from ...host_model import meter as operations
from ...host_model.meter import Meter, Send
from ...operation import ErrorKind
from ...remote import Segment
from .layout import Kind, Layout


class Receive(operations.Receive):
    """`wanted_source`: the source that the program asked for."""

    __slots__ = ("wanted_source",)

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.wanted_source = source


@dataclass(slots=True, eq=False)
class Message(operations.Message):
    """A message that has arrived, or of which the sender has told.

    Attributes:
        kind: SHORT, whose bytes are `data`; EAGER, which lies in eager slot `slot`; REQUEST, which
            waits at its sender.
        number: of the send, for the answer that it waits for; 0 if it waits for none.
    """

    kind: Kind = Kind.SHORT
    number: int = 0
    slot: int = 0
    data: bytes = b""


@dataclass
class Arriving:
    """A message that comes in chunks. `wanted`: bytes that its receive takes, of which `got` are
    there. `packed`: where they are gathered first, if they are."""

    receive: Receive
    message: Message
    wanted: int
    packed: bytearray | None = None
    got: int = 0


@dataclass
class Leaving:
    """A message whose receiver is ready. `number`: of the receive there; `wanted` bytes go, of
    which `begun` have been put."""

    send: Send
    body: Body
    number: int
    wanted: int
    begun: int = 0


class Held(Run):
    """Bytes of the library's own. They live as long as the body."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        super().__init__(process_memory.address_of(data), len(data))


# Remote interrupts (SC-21): a peer that needs this rank's processor for its one-sided communication interrupts the
# program's own work. Inside the library the rank looks by itself, and takes the signals as it does.

SIGNAL = bytes(4)  # a record must have bytes; these say nothing


class Interrupts:
    """The signals of this rank to others, and those to it."""

    def __init__(self, bus: Bus, remote: AdapterRemote, layout: Layout, payload: int, costs: HostConfig) -> None:
        self._bus = bus
        self._remote = remote
        self._offset = layout.signals
        self._price = interrupt_price(costs)
        self._fifo = Fifo(buffer_of(remote.segment), layout.signals, layout.signals // PAGE_SIZE + 1, 1, payload)
        self._last: dict[int, Transfer] = {}  # by rank
        self._contexts: frozenset[int] = frozenset()

    def add(self, contexts: Iterable[int]) -> None:
        """Messages in these contexts interrupt their receivers."""
        self._contexts = self._contexts.union(contexts)

    @property
    def expected(self) -> bool:
        """Messages in some contexts interrupt their receivers."""
        return bool(self._contexts)

    def needed(self, context: int) -> bool:
        return context in self._contexts

    def send(self, rank: int) -> Transfer:
        """Begin to interrupt a rank, behind all that was put to it before."""
        last = self._last.get(rank)
        full = last is not None and last.error is not None and last.error.kind is ErrorKind.BAD_REQUEST
        self._last[rank] = signal = self._remote.signal(rank, self._offset, Held(SIGNAL), again=full)
        return signal

    def take(self) -> list[tuple[int, int]]:
        """Take the signals that have come: this rank looks at what its peers have written. Return the origins of the
        signals: NICs, and processes of their hosts."""
        origins = []
        while self._fifo.look():
            origins.append(self._fifo.sender())
            self._fifo.drop()
        return origins

    def watched(self) -> Watched:
        """Return the word that changes when a signal comes."""
        return self._fifo.watched()

    def work(self, picoseconds: int, interrupted: Callable[[], None]) -> None:
        """The program's own work. `interrupted` is called at each signal, which it takes."""
        work(self._bus, picoseconds, self._fifo, interrupted, self._price)


# The segments of ranks on the same node, which this rank's processor stores to (SC-08).

STORE = 16384  # bytes copied at a time


class LocalSegment:
    """The segment of `rank`, on this rank's node. Each process of a node allocates its segment first,
    so segments lie alike in the bus windows of their processes."""

    local = True

    def __init__(self, bus: Bus, attachment: Attachment, meter: Meter, own: Segment, rank: int) -> None:
        self._bus = bus
        self._meter = meter
        self._rank = rank
        self._token = attachment.token(rank, own.size)
        apart = attachment.places[rank].process - attachment.place.process
        self._address = buffer_of(own).bus_address + apart * WINDOW
        self._was_there = False

    def put(self, offset: int, body: Body, alone: bool = False) -> Transfer:
        """Copy a body there. It is done when this returns."""
        transfer = Transfer(Op.WRITE, self._rank, self._token, offset, body)
        try:
            for begin in range(0, body.size, STORE):
                part = body.part(begin, min(begin + STORE, body.size)).read()
                self._store(transfer, offset + begin, part)
        except BusError as error:
            transfer.fail(ErrorKind.BUS_ERROR, str(error))
        transfer.begun = transfer.length
        transfer.end()
        return transfer

    def interrupt(self) -> None:
        """Ranks of a node do not interrupt each other."""

    def _store(self, transfer: Transfer, offset: int, data: bytes) -> None:
        self._meter.spend(HostCost.COPY, len(data))
        try:
            self._bus.store(self._address + offset, data)
        except BusError as error:
            kind = ErrorKind.PEER_FAILED if self._was_there else ErrorKind.BAD_REQUEST
            transfer.fail(kind, f"{transfer.what}: {error}")
        else:
            self._was_there = True


def is_local(attachment: Attachment, rank: int) -> bool:
    return attachment.places[rank].node == attachment.place.node
