"""The one place where host work is charged."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .. import process_memory
from ..body import NOTHING, Body
from ..bus.base import BusError
from ..config import HostCost, HostCosts
from ..device import ChargeSink, RoomSink
from ..operation import DeviceError, ErrorKind, Operation


class Meter:
    """A rank's processor, as a clock: work is charged first, and its time passes when it is paid.

    Members:
        costs: what work costs.
        sink: told of all work, before its time passes.
        owed: picoseconds that have been charged and not paid.
    """

    __slots__ = ("_elapse", "_prices", "costs", "owed", "sink")

    def __init__(self, costs: HostCosts, elapse: Callable[[int], None]) -> None:
        """`elapse` lets picoseconds pass."""
        self.costs = costs
        self.sink: ChargeSink | None = None
        self.owed = 0
        self._elapse = elapse
        self._prices = {what.value: costs.price(what) for what in HostCost}

    def charge(self, what: HostCost, count: int = 1) -> None:
        """The processor does so many units of work."""
        cost = self._prices[what._value_] * count  # `value` is a property, and slow
        if self.sink is not None and count:
            self.sink(what, count, cost)
        self.owed += cost

    def take(self) -> int:
        """Return what is owed, which the caller lets pass."""
        owed, self.owed = self.owed, 0
        return owed

    def pay(self) -> None:
        """Let the time pass that is owed."""
        owed = self.owed
        if owed:
            self.owed = 0
            self._elapse(owed)

    def spend(self, what: HostCost, count: int = 1) -> None:
        """Charge work and pay for it. On a host whose work is free, others may come to their turn here too."""
        cost = self._prices[what._value_] * count
        if self.sink is not None and count:
            self.sink(what, count, cost)
        owed, self.owed = self.owed + cost, 0
        self._elapse(owed)


# A ledger in which a device notes what its host alone knows of room at receivers.


class Ledger:
    """The room that a rank takes at its peers, and that its peers have here. It takes no time.

    Members:
        sink: told of all changes; None: nobody asks.
    """

    __slots__ = ("_rank", "sink")

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.sink: RoomSink | None = None

    def took(self, room: str, peer: int, count: int = 1) -> None:
        """This rank has taken room at a peer."""
        if self.sink is not None:
            self.sink(room, self._rank, peer, count)

    def has_back(self, room: str, peer: int, count: int = 1) -> None:
        """This rank knows that room at a peer is free again."""
        if self.sink is not None:
            self.sink(room, self._rank, peer, -count)

    def filled(self, room: str, peer: int, count: int = 1) -> None:
        """A peer has taken room of this rank's own."""
        if self.sink is not None:
            self.sink(room, peer, self._rank, count)

    def freed(self, room: str, peer: int, count: int = 1) -> None:
        """This rank has freed room of its own that a peer had taken."""
        if self.sink is not None:
            self.sink(room, peer, self._rank, -count)


# Sends and receives of devices that match messages on the host.


class Send(Operation):
    """A send. `synchronous`: done only when a receive has taken the message."""

    __slots__ = ("body", "context", "dest", "synchronous")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, tag)
        self.dest = dest
        self.context = context
        self.body = body
        self.length = body.size
        self.synchronous = synchronous


class Receive(Operation):
    """A receive. `posted`: it waits in the matcher's queue. `order` is the matcher's to use."""

    __slots__ = ("body", "context", "order", "posted")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag)
        self.context = context
        self.body = body
        self.order = 0
        self.posted = False

    def put(self, meter: Meter, begin: int, data: memoryview) -> None:
        """Copy bytes of the message, from `begin` on, to where the program wants them, as far as they
        fit."""
        end = min(begin + len(data), self.body.size)
        if begin >= end or self.error is not None:
            return
        meter.spend(HostCost.COPY, end - begin)
        try:
            self.body.unpack(begin, end, process_memory.address_of(data))
        except BusError as error:
            self.error = DeviceError(ErrorKind.BUS_ERROR, str(error))

    def finish(self, source: int, tag: int, length: int) -> None:
        """All bytes of a message of `length` that fit are there. The receive may have failed before."""
        self.source, self.tag = source, tag
        if self.error is None:
            self.length = min(length, self.body.size)
            if length > self.body.size:
                self.error = DeviceError(ErrorKind.TRUNCATED, f"(it has {length} bytes)")
        self.body = NOTHING
        self.done = True


@dataclass(slots=True, eq=False)
class Message:
    """A message that has arrived, or of which its sender has told. A system adds what it must know of it.

    Attributes:
        own_send: the synchronous send of this rank that it is, which ends when a receive takes it.
        order: the matcher's to use.
    """

    source: int
    tag: int
    context: int
    length: int
    own_send: Send | None = field(default=None, kw_only=True)
    order: int = field(default=0, kw_only=True)


def fail(operation: Operation, kind: ErrorKind, text: str) -> None:
    """End an operation with an error, unless it has ended."""
    if not operation.done:
        operation.error = DeviceError(kind, text)
        operation.done = True


def read_all(send: Send) -> bytes | None:
    """Return the bytes of a send to this rank itself, which is done unless it is synchronous. None if
    they cannot be read: the send has failed."""
    try:
        data = send.body.read()
    except BusError as error:
        fail(send, ErrorKind.BUS_ERROR, str(error))
        return None
    send.done = not send.synchronous
    return data
