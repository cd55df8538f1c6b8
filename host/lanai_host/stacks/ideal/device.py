"""The `ideal` device: no network interface. Messages are datagrams that cost what `IdealOptions`
states.

It is the upper bound that real devices are compared with, and the fast way to test the MPI library.
Standard and ready sends are done when posted, because a datagram is a copy; a synchronous send is
done when its receiver says that a receive took it. Cancelling reaches only synchronous sends not
yet taken, by asking the receiver, and receives."""

import struct
from collections.abc import Callable, Sequence
from typing import Protocol

from ... import process_memory
from ...body import NOTHING, Body
from ...bus.base import BusError
from ...config import HostCost, HostCosts
from ...device import SERVICE_CONTEXT, Arrived, ChargeSink, Choices, Device, Envelope, Pending, SendMode
from ...errors import DeadlockError
from ...host_model import meter
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ...remote import Writes
from ...simulator.transport import LOOK_TIME

# Datagrams of the `ideal` device: their header, and how they travel.

Datagram = bytes | memoryview  # a large one stays where it lies until it is taken


class Transport(Protocol):
    """The transport of the device's messages: in order between two processes, each piece whole."""

    @property
    def now(self) -> int:
        """Host time in picoseconds."""

    def elapse(self, picoseconds: int) -> None:
        """Host work; may be lazy."""

    def post(self, dest: int, head: bytes, body: Body) -> None:
        """Send one datagram, copied from where it lies; never blocks. Delivery may wait for the
        next `collect`."""

    def collect(self, why: Wait | None) -> list[tuple[int, Datagram]]:
        """(source, datagram) of all that has arrived; with `why`, blocks until there is at least
        one."""

    def close(self) -> None: ...


# Kinds of datagrams. Plain numbers: they are compared for every message.
MESSAGE = 0
SYNCHRONOUS = 1  # to be answered with TAKEN once a receive took it
TAKEN = 2
RETRACT = 3  # forget that synchronous message; answered with RETRACTED or, if too late, with nothing after its TAKEN
RETRACTED = 4

HEADER = struct.Struct(">BHiI")  # kind, context, tag, serial number of a synchronous send
HEAD = HEADER.size


class Solo:
    """The transport of a process that is alone: a program started without `lanai run` (a
    singleton)."""

    def __init__(self) -> None:
        self.now = 0

    def elapse(self, picoseconds: int) -> None:
        self.now += picoseconds

    def post(self, dest: int, head: bytes, body: Body) -> None:
        raise ValueError(f"process 0 is alone; there is no rank {dest}")

    def collect(self, why: Wait | None) -> list[tuple[int, Datagram]]:
        if why is not None:
            raise DeadlockError(f"deadlock: {why.call} waits for a message that no rank can send ({why.note})")
        return []

    def close(self) -> None: ...


_WAITING = SendMode.SYNCHRONOUS  # looking a member up in an enum class costs as much as a dictionary of its own

LONG = 1 << 16  # bytes of a body that is not copied more often than it must be

Collect = Callable[[Wait | None], list[tuple[int, Datagram]]]  # as `Transport.collect`


class _Send(Operation):
    __slots__ = ("context", "dest", "serial")

    def __init__(self, source: int, tag: int, context: int, dest: int, serial: int) -> None:
        super().__init__(source, tag)
        self.context = context
        self.dest = dest
        self.serial = serial


def _joined(head: bytes, body: Body) -> bytearray:
    """A datagram of a long message, whose body is copied once."""
    datagram = bytearray(len(head) + body.size)
    datagram[: len(head)] = head
    body.pack(0, body.size, process_memory.address_of(datagram) + len(head))
    return datagram


def _failed(operation: Operation, error: BusError) -> Operation:
    """The operation has ended, for the program's memory cannot be reached."""
    operation.error = DeviceError(ErrorKind.BUS_ERROR, str(error))
    operation.done = True
    return operation


class _Message:
    """A message that has arrived."""

    __slots__ = ("context", "datagram", "length", "order", "serial", "source", "synchronous", "tag")

    def __init__(
        self, source: int, tag: int, context: int, datagram: Datagram | bytearray, synchronous: bool, serial: int
    ) -> None:
        self.source, self.tag, self.context, self.datagram = source, tag, context, datagram
        self.length = len(datagram) - HEAD
        self.synchronous, self.serial = synchronous, serial
        self.order = 0


class IdealDevice(Device):
    """Matching in the host, datagrams below. `host` prices the work of MPI and of matching; nothing else
    that the device does takes time.

    `fast_path` (see `fast_path.IdealFastPath`) looks at its `matcher` and `meter`, and how many receives
    are `outstanding`."""

    copies = True
    # Where both ways to reduce take equally long with the default options.
    choices = Choices(long_vector=1024, long_vector_per_rank=64)

    def __init__(self, rank: int, size: int, transport: Transport, host: HostCosts | None = None) -> None:
        self.rank = rank
        self.size = size
        self._transport = transport
        self._collect: Collect = transport.collect
        self._pass_looks: Callable[[int, int], int] = lambda price, most: 0
        self.meter = Meter(host or HostCosts(), self._elapse)
        self.matcher: Matcher[meter.Receive, _Message] = Matcher(self.meter)
        self.outstanding = 0  # receives posted and not yet matched, but for those of services
        self._untaken: dict[tuple[int, int], _Message] = {}  # synchronous ones, by source and serial number
        self.sends: dict[int, _Send] = {}  # synchronous ones by serial, until taken
        self._sent = Operation(rank)  # stands for every send that ended at once
        self._sent.done = True
        self._serial = 0

    def offer(self, writes: Writes, collect: Collect, pass_looks: Callable[[int, int], int]) -> None:
        """Let others write to memory here. `collect` does from now on what that of the transport does. `pass_looks`:
        see `rank_transport.RankTransport`."""
        self.writes = writes
        self._collect = collect
        self._pass_looks = pass_looks

    # Device

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        if mode is not _WAITING:
            try:
                self._transmit(dest, HEADER.pack(MESSAGE, context, tag, 0), body)
            except BusError as error:
                return _failed(_Send(self.rank, tag, context, dest, 0), error)
            return self._sent
        self._serial = self._serial % 0xFFFFFFFF + 1
        synchronous = _Send(self.rank, tag, context, dest, self._serial)
        synchronous.length = body.size
        self.sends[self._serial] = synchronous
        try:
            self._transmit(dest, HEADER.pack(SYNCHRONOUS, context, tag, self._serial), body)
        except BusError as error:
            del self.sends[self._serial]
            return _failed(synchronous, error)
        return synchronous

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        operation = meter.Receive(source, tag, context, body)
        message = self.matcher.find(source, tag, context)
        if message is None:
            return self.post(operation)
        self._remove(message)
        self._take(message, operation)
        return operation

    def post(self, operation: meter.Receive) -> Operation:
        """A receive waits for its message."""
        self.matcher.post(operation)
        self._count(operation, 1)
        return operation

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        message = self.matcher.find(source, tag, context)
        if message is None:
            return None
        if take:
            self._remove(message)
        return Arrived(message.source, message.tag, message.length, context, message)

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        operation = meter.Receive(arrived.source, arrived.tag, arrived.context, body)
        assert isinstance(arrived.handle, _Message)
        self._take(arrived.handle, operation)
        return operation

    def cancel(self, operation: Operation) -> bool:
        if operation.done:
            return False
        if isinstance(operation, _Send):
            self._transmit(operation.dest, HEADER.pack(RETRACT, 0, 0, operation.serial))
            return operation.done and operation.cancelled
        assert isinstance(operation, meter.Receive)
        self.matcher.withdraw(operation)
        self._count(operation, -1)
        operation.cancelled = operation.done = True
        return True

    def progress(self) -> None:
        self.charge(HostCost.POLL)
        self._handle(None)

    def pass_polls(self, took: int, most: int) -> None:
        self.pay()
        call = self.price(HostCost.CALL) if took > (alone := self.price(HostCost.POLL) + LOOK_TIME) else 0
        if took == alone + call:
            count = self._pass_looks(took - LOOK_TIME, most)
            self.charge(HostCost.POLL, count)
            self.charge(HostCost.CALL, count if call else 0)

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        if operations is None:
            self._handle(why)
            return
        while not any(operation.done for operation in operations):
            self._handle(why)

    def now(self) -> int:
        return self._transport.now + self.meter.owed

    def price(self, what: HostCost) -> int:
        return self.meter.costs.price(what)

    def charge(self, what: HostCost, count: int = 1) -> None:
        self.meter.charge(what, count)

    def report_charges(self, sink: ChargeSink) -> None:
        self.meter.sink = sink

    def close(self) -> None:
        self.pay()
        self._transport.close()

    def unexpected(self) -> list[Envelope]:
        return self.matcher.unexpected()

    def pending(self) -> list[Pending]:
        sends = [Pending(True, one.dest, one.tag, one.context, one.length) for one in self.sends.values()]
        return self.matcher.posted() + sends

    # Matching and transport

    def _count(self, operation: meter.Receive, change: int) -> None:
        if operation.context < SERVICE_CONTEXT:
            self.outstanding += change

    def _remove(self, message: _Message) -> None:
        self.matcher.remove(message)
        if message.synchronous:
            del self._untaken[message.source, message.serial]

    def pay(self) -> None:
        """Pass the host work that is owed to the transport."""
        if self.meter.owed:
            self._transport.elapse(self.meter.take())

    def _elapse(self, picoseconds: int) -> None:
        self._transport.elapse(picoseconds)

    def _transmit(self, dest: int, head: bytes, body: Body = NOTHING) -> None:
        if dest == self.rank:
            self.arrive(dest, head + body.read() if body.size < LONG else _joined(head, body))
            return
        self.pay()
        self._transport.post(dest, head, body)

    def _handle(self, why: Wait | None) -> None:
        self.pay()
        for source, datagram in self._collect(why):
            self.arrive(source, datagram)

    def arrive(self, source: int, datagram: Datagram | bytearray) -> None:
        kind, context, tag, serial = HEADER.unpack_from(datagram)
        if kind <= SYNCHRONOUS:
            operation = self.matcher.meet(source, tag, context)
            if operation is None:
                self._keep(_Message(source, tag, context, datagram, kind == SYNCHRONOUS, serial))
                return
            self._count(operation, -1)
            self._deliver(source, tag, datagram, operation)
            if kind == SYNCHRONOUS:
                self._transmit(source, HEADER.pack(TAKEN, 0, 0, serial))
        elif kind == RETRACT:
            self._retract(source, serial)
        else:
            send = self.sends.pop(serial, None)
            if send is not None:  # else TAKEN crossed with RETRACT
                send.done = True
                send.cancelled = kind == RETRACTED

    def _keep(self, message: _Message) -> None:
        self.matcher.keep(message)
        if message.synchronous:
            self._untaken[message.source, message.serial] = message

    def _retract(self, source: int, serial: int) -> None:
        message = self._untaken.get((source, serial))
        if message is not None:
            self._remove(message)
            self._transmit(source, HEADER.pack(RETRACTED, 0, 0, serial))

    def _take(self, message: _Message, operation: meter.Receive) -> None:
        self._deliver(message.source, message.tag, message.datagram, operation)
        if message.synchronous:
            self._transmit(message.source, HEADER.pack(TAKEN, 0, 0, message.serial))

    def _deliver(self, source: int, tag: int, datagram: Datagram | bytearray, operation: meter.Receive) -> None:
        length = len(datagram) - HEAD
        try:
            body = bytes(datagram[HEAD:]) if length < LONG else memoryview(datagram)[HEAD:]
            operation.length = operation.body.write(body)
        except BusError as error:
            operation.error = DeviceError(ErrorKind.BUS_ERROR, str(error))
        else:
            if operation.length < length:
                operation.error = DeviceError(ErrorKind.TRUNCATED, f"(it has {length} bytes)")
        operation.source, operation.tag = source, tag
        operation.body = NOTHING
        operation.done = True
