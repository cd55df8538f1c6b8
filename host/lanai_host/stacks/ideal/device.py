"""The `ideal` device: no network interface. Messages are datagrams that cost what `IdealOptions`
states.

It is the upper bound that real devices are compared with, and the fast way to test the MPI library.
Standard and ready sends are done when posted, because a datagram is a copy; a synchronous send is
done when its receiver says that a receive took it. Cancelling reaches only synchronous sends not
yet taken, by asking the receiver, and receives."""

from collections.abc import Callable, Sequence

from ...body import NOTHING, Body
from ...bus.base import BusError, Wait
from ...choices import Choices
from ...config import HostCost, HostCosts
from ...device import SERVICE_CONTEXT, Arrived, Device, Envelope, Pending, SendMode
from ...operation import DeviceError, ErrorKind, Operation
from ...remote import Writes
from ..queues import Posted, Unexpected
from .datagrams import HEAD, HEADER, MESSAGE, RETRACT, RETRACTED, SYNCHRONOUS, TAKEN, Transport

_CALL, _WAITING = (
    HostCost.CALL,
    SendMode.SYNCHRONOUS,
)  # looking a member up in an enum class costs as much as a dictionary of its own

Collect = Callable[[Wait | None], list[tuple[int, bytes]]]  # as `Transport.collect`


class _Receive(Operation):
    __slots__ = ("body", "context", "order")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag)
        self.context = context
        self.body = body
        self.order = 0


class _Send(Operation):
    __slots__ = ("context", "dest", "serial")

    def __init__(self, source: int, tag: int, context: int, dest: int, serial: int) -> None:
        super().__init__(source, tag)
        self.context = context
        self.dest = dest
        self.serial = serial


def _failed(operation: Operation, error: BusError) -> Operation:
    """The operation has ended, for the program's memory cannot be reached."""
    operation.error = DeviceError(ErrorKind.BUS_ERROR, str(error))
    operation.done = True
    return operation


class _Unexpected:
    __slots__ = ("context", "datagram", "order", "serial", "source", "synchronous", "tag")

    def __init__(self, source: int, tag: int, context: int, datagram: bytes, synchronous: bool, serial: int) -> None:
        self.source, self.tag, self.context, self.datagram = source, tag, context, datagram
        self.synchronous, self.serial = synchronous, serial
        self.order = 0


class IdealDevice(Device):
    """Matching in the host, datagrams below. `host` prices the work above the device; the device's
    own work is free.

    `fast_path` (see `fast_path.IdealFastPath`) looks at its queues and its clock: what is `posted`
    (how much is `outstanding`), `arrived`, `owed`."""

    copies = True
    # Where both ways to reduce take equally long with the default options.
    choices = Choices(long_vector=1024, long_vector_per_rank=64)

    def __init__(self, rank: int, size: int, transport: Transport, host: HostCosts | None = None) -> None:
        self.rank = rank
        self.size = size
        self._transport = transport
        self._collect: Collect = transport.collect
        self._costs = host or HostCosts()
        self._call_price = self._costs.price(HostCost.CALL)
        self.posted: dict[int, Posted[_Receive]] = {}  # by context
        self.outstanding = 0  # receives posted and not yet matched, but for those of services
        self.arrived: dict[int, Unexpected[_Unexpected]] = {}  # unexpected ones, by context
        self._untaken: dict[tuple[int, int], _Unexpected] = {}  # synchronous ones, by source and serial number
        self.sends: dict[int, _Send] = {}  # synchronous ones by serial, until taken
        self._sent = Operation(rank)  # stands for every send that ended at once
        self._sent.done = True
        self._serial = 0
        self.owed = 0  # picoseconds of host work not yet charged to the transport

    def offer(self, writes: Writes, collect: Collect) -> None:
        """Let others write to memory here. `collect` does from now on what that of the transport does."""
        self.writes = writes
        self._collect = collect

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
        operation = _Receive(source, tag, context, body)
        message = self._waiting(source, tag, context)
        if message is None:
            self._post(operation)
        else:
            self._remove(message)
            self._take(message, operation)
        return operation

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        message = self._waiting(source, tag, context)
        if message is None:
            return None
        if take:
            self._remove(message)
        return Arrived(message.source, message.tag, len(message.datagram) - HEAD, context, message)

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        operation = _Receive(arrived.source, arrived.tag, arrived.context, body)
        assert isinstance(arrived.handle, _Unexpected)
        self._take(arrived.handle, operation)
        return operation

    def cancel(self, operation: Operation) -> bool:
        if operation.done:
            return False
        if isinstance(operation, _Send):
            self._transmit(operation.dest, HEADER.pack(RETRACT, 0, 0, operation.serial))
            return operation.done and operation.cancelled
        assert isinstance(operation, _Receive)
        self.posted[operation.context].remove(operation)
        self._count(operation, -1)
        operation.cancelled = operation.done = True
        return True

    def progress(self) -> None:
        self.charge(HostCost.POLL)
        self._handle(None)

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        if operations is None:
            self._handle(why)
            return
        while not any(operation.done for operation in operations):
            self._handle(why)

    def now(self) -> int:
        return self._transport.now + self.owed

    def price(self, what: HostCost) -> int:
        return self._costs.price(what)

    def charge(self, what: HostCost, count: int = 1) -> None:
        # Enum members hash slowly, and this one is charged with every call.
        cost = self._call_price if what is _CALL else self._costs.price(what, count)
        if self._charge_sink is not None:
            self._charge_sink(what, count, cost)
        self.owed += cost

    def close(self) -> None:
        self.pay()
        self._transport.close()

    def unexpected(self) -> list[Envelope]:
        return [
            Envelope(message.source, message.tag, message.context, len(message.datagram) - HEAD)
            for queue in self.arrived.values()
            for message in queue
        ]

    def pending(self) -> list[Pending]:
        receives = [
            Pending(False, one.source, one.tag, one.context, one.body.size)
            for queue in self.posted.values()
            for one in queue
        ]
        sends = [Pending(True, one.dest, one.tag, one.context, one.length) for one in self.sends.values()]
        return receives + sends

    # Matching and transport

    def _post(self, operation: _Receive) -> None:
        posted = self.posted.get(operation.context)
        if posted is None:
            posted = self.posted[operation.context] = Posted()
        posted.add(operation)
        self._count(operation, 1)

    def _count(self, operation: _Receive, change: int) -> None:
        if operation.context < SERVICE_CONTEXT:
            self.outstanding += change

    def _waiting(self, source: int, tag: int, context: int) -> _Unexpected | None:
        waiting = self.arrived.get(context)
        return waiting.find(source, tag) if waiting else None

    def _remove(self, message: _Unexpected) -> None:
        self.arrived[message.context].remove(message)
        if message.synchronous:
            del self._untaken[message.source, message.serial]

    def pay(self) -> None:
        """Pass the host work that is owed to the transport."""
        if self.owed:
            owed, self.owed = self.owed, 0
            self._transport.elapse(owed)

    def _transmit(self, dest: int, head: bytes, body: Body = NOTHING) -> None:
        if dest == self.rank:
            self.arrive(dest, head + body.read())
            return
        if self.owed:
            self.pay()
        self._transport.post(dest, head, body)

    def _handle(self, why: Wait | None) -> None:
        if self.owed:
            self.pay()
        for source, datagram in self._collect(why):
            self.arrive(source, datagram)

    def arrive(self, source: int, datagram: bytes) -> None:
        kind, context, tag, serial = HEADER.unpack_from(datagram)
        if kind <= SYNCHRONOUS:
            posted = self.posted.get(context)
            operation = posted.take(source, tag) if posted else None
            if operation is None:
                self._keep(_Unexpected(source, tag, context, datagram, kind == SYNCHRONOUS, serial))
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

    def _keep(self, message: _Unexpected) -> None:
        waiting = self.arrived.get(message.context)
        if waiting is None:
            waiting = self.arrived[message.context] = Unexpected()
        waiting.add(message)
        if message.synchronous:
            self._untaken[message.source, message.serial] = message

    def _retract(self, source: int, serial: int) -> None:
        message = self._untaken.get((source, serial))
        if message is not None:
            self._remove(message)
            self._transmit(source, HEADER.pack(RETRACTED, 0, 0, serial))

    def _take(self, message: _Unexpected, operation: _Receive) -> None:
        self._deliver(message.source, message.tag, message.datagram, operation)
        if message.synchronous:
            self._transmit(message.source, HEADER.pack(TAKEN, 0, 0, message.serial))

    def _deliver(self, source: int, tag: int, datagram: bytes, operation: _Receive) -> None:
        length = len(datagram) - HEAD
        try:
            operation.length = operation.body.write(datagram[HEAD:])
        except BusError as error:
            operation.error = DeviceError(ErrorKind.BUS_ERROR, str(error))
        else:
            if operation.length < length:
                operation.error = DeviceError(ErrorKind.TRUNCATED, f"(it has {length} bytes)")
        operation.source, operation.tag = source, tag
        operation.body = NOTHING
        operation.done = True
