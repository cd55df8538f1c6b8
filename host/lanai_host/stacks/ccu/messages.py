"""Messages are cut into packets and written to the send queue (CC-15, CC-17)."""

import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from lanai_firmware.programs.ccu.layout import LAST, MPI_HEAD, MPI_TAIL

from ...body import NOTHING, Body
from ...bus.base import BusError
from ...config import HostCost
from ...device import Pending
from ...host_model import meter
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter, Receive, fail
from ...operation import ErrorKind, Operation
from .daemon import Arrival, Daemon

# Sends and receives under way, and messages on their way here.

HEADER = struct.Struct(
    ">BxHiII"
)  # kind, context, tag, length of the message, serial number: in the first packet only (CC-16)


class Kind(IntEnum):
    """The kind of a message."""

    MESSAGE = 0
    SYNCHRONOUS = 1  # to be answered with TAKEN once a receive has it
    TAKEN = 2  # no message: the synchronous one of that serial number was taken


class Send(Operation):
    """A message to some ranks. `offset`: bytes of header and body that are in packets. `serial`:
    nonzero until a receive has taken a synchronous one. `context`: None if it is the answer to a
    synchronous one, which the program has not sent."""

    __slots__ = ("body", "context", "header", "offset", "ranks", "serial")

    def __init__(
        self,
        source: int,
        ranks: tuple[int, ...],
        tag: int,
        context: int | None,
        body: Body,
        header: bytes,
        serial: int = 0,
    ) -> None:
        super().__init__(source, tag)
        self.ranks = ranks
        self.context = context
        self.body = body
        self.length = body.size
        self.header = header
        self.offset = 0
        self.serial = serial

    def next_packet(self, limit: int) -> bytes:
        """The next bytes, at most `limit`. Raises BusError if the program's memory cannot be
        read."""
        begin = max(self.offset - len(self.header), 0)
        head = self.header[self.offset :]
        data = head + self.body.part(begin, begin + limit - len(head)).read()
        self.offset += len(data)
        return data

    def pending(self) -> list[Pending]:
        """Return the part of it that is not done, for each rank."""
        if self.done or self.context is None:
            return []
        return [Pending(True, rank, self.tag, self.context, self.length) for rank in self.ranks]

    @property
    def is_cut(self) -> bool:
        """All bytes are in packets."""
        return self.offset == len(self.header) + self.body.size


@dataclass(slots=True, eq=False)
class Message(meter.Message):
    """A message that arrives in packets, or has arrived.

    Attributes:
        serial: to be told to the sender when a receive takes it; 0: it does not ask.
        came: bytes that have arrived.
        data: those that came before a receive took it (the local buffer, CC-18).
        receive: that takes it; None: none has yet.
    """

    serial: int = 0
    came: int = 0
    data: bytearray | None = None
    receive: Receive | None = None

    @property
    def is_whole(self) -> bool:
        return self.came == self.length


# Packets become messages, and messages meet receives (CC-18, CC-19).

SOURCE = (1 << 16) - 1  # in a packet's tag


class Receiving:
    """`taken(rank, serial)` answers a synchronous message; `answered(serial)` says that one of ours
    was.

    Attributes:
        copied: bytes that went through the local buffer, because no receive was there for them.
    """

    def __init__(self, meter: Meter, taken: Callable[[int, int], None], answered: Callable[[int], None]) -> None:
        self._meter = meter
        self._taken = taken
        self._answered = answered
        self.matcher: Matcher[Receive, Message] = Matcher(meter)
        self._coming: dict[int, Message] = {}  # messages that are not whole, by source
        self.copied = 0

    def take_packet(self, arrival: Arrival) -> None:
        """A packet. Those of one source come in order, a message after the other."""
        source = arrival.tag & SOURCE
        content = arrival.content
        self._meter.spend(HostCost.COMPLETE)
        if arrival.tag & int(MPI_HEAD):
            kind, context, tag, length, serial = HEADER.unpack_from(content)
            content = content[HEADER.size :]
            if kind == Kind.TAKEN:
                self._answered(serial)
                return
            serial = serial if kind == Kind.SYNCHRONOUS else 0
            self._coming[source] = Message(source, tag, context, length, serial)
            self._begin(self._coming[source])
        message = self._coming[source]
        self._add(message, content)
        if arrival.tag & int(MPI_TAIL):
            assert message.is_whole, f"{message.came} of {message.length} bytes came from rank {source}"
            del self._coming[source]

    def accept(self, message: Message, data: bytes) -> None:
        """A message with all its bytes."""
        self._begin(message)
        self._add(message, data)

    def _begin(self, message: Message) -> None:
        """A message whose bytes `_add` will bring. Its place among others counts from here on."""
        receive = self.matcher.arrive(message)
        if receive is None:
            message.data = bytearray()
        else:
            self._meet(message, receive)

    def _add(self, message: Message, data: memoryview | bytes) -> None:
        """The next bytes: straight to the program's memory if a receive is there, else to the local
        buffer."""
        if message.receive is not None:
            message.receive.put(self._meter, message.came, memoryview(data))
        else:
            assert message.data is not None
            self._meter.spend(HostCost.COPY, len(data))
            message.data += data
            self.copied += len(data)
        message.came += len(data)
        self._finish_whole(message)

    def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        message = self.matcher.begin(receive)
        if message is not None:
            self.take(message, receive)

    def take(self, message: Message, receive: Receive) -> None:
        """A receive takes a message from the local buffer, as much of it as is there. The rest goes
        to it directly."""
        assert message.data is not None
        receive.put(self._meter, 0, memoryview(message.data))
        message.data = None
        self._meet(message, receive)
        self._finish_whole(message)

    def _meet(self, message: Message, receive: Receive) -> None:
        message.receive = receive
        receive.source, receive.tag = message.source, message.tag
        if message.own_send is not None:
            message.own_send.done = True
        if message.serial:
            self._taken(message.source, message.serial)

    def _finish_whole(self, message: Message) -> None:
        if message.receive is not None and message.is_whole:
            message.receive.finish(message.source, message.tag, message.length)


class Sending:
    """Sends in order. A standard one is done when all of it is in the daemon's send buffer; a
    synchronous one when, beside that, a receive has taken it. `datagram`: bytes of a message that
    are one datagram; 0: the daemon sends packets as they come."""

    def __init__(self, daemon: Daemon, rank: int, packet: int, datagram: int = 0) -> None:
        self._daemon = daemon
        self._rank = rank
        self._packet = packet
        self._datagram = datagram
        self._waiting: deque[Send] = deque()
        self._untaken: dict[int, Send] = {}  # synchronous ones, by serial number
        self._serial = 0

    @property
    def is_idle(self) -> bool:
        """Every packet was taken by the daemon."""
        return not self._waiting and not self._daemon.untaken

    @property
    def is_settled(self) -> bool:
        """Nothing waits for room in the send queue."""
        return not self._waiting

    def writes(self, send: Send) -> bool:
        """Return whether packets of a message have not been written to the send queue."""
        return send in self._waiting

    def queue(self, ranks: tuple[int, ...], tag: int, context: int, body: Body, *, synchronous: bool = False) -> Send:
        """A message that leaves after those before it. `push` writes its packets."""
        kind = Kind.SYNCHRONOUS if synchronous else Kind.MESSAGE
        serial = self._next_serial() if synchronous else 0
        send = Send(self._rank, ranks, tag, context, body, HEADER.pack(kind, context, tag, body.size, serial), serial)
        if synchronous:
            self._untaken[serial] = send
        self._waiting.append(send)
        return send

    def pending(self) -> list[Pending]:
        """Messages that are not done, in the order in which they were sent."""
        rest = [send for send in self._untaken.values() if send not in self._waiting]
        return [one for send in (*rest, *self._waiting) for one in send.pending()]

    def _next_serial(self) -> int:
        self._serial = self._serial % 0xFFFF_FFFF + 1
        return self._serial

    def answer(self, rank: int, serial: int) -> None:
        """Tell a rank that its synchronous message was taken."""
        self._waiting.append(Send(self._rank, (rank,), 0, None, NOTHING, HEADER.pack(Kind.TAKEN, 0, 0, 0, serial)))

    def answered(self, serial: int) -> None:
        """A receive has taken our synchronous message of that number."""
        send = self._untaken.pop(serial)
        send.serial = 0
        self._end(send)

    def push(self) -> None:
        """Write as many packets as the send queue takes. The daemon sends each while the next is
        written (CC-20)."""
        while self._waiting and self._daemon.has_room:
            send = self._waiting[0]
            first = send.offset == 0
            try:
                data = send.next_packet(min(self._packet, self._left(send)))
            except BusError as error:
                self._abandon(send, error)
                continue
            last = self._datagram and (send.is_cut or self._left(send) == self._datagram)
            tag = self._rank | int(MPI_HEAD) * first | int(MPI_TAIL) * send.is_cut | int(LAST) * bool(last)
            self._daemon.send(tag, data, send.ranks)
            self._daemon.trigger()
            if send.is_cut:
                self._waiting.popleft()
                self._end(send)

    def _left(self, send: Send) -> int:
        """Bytes that the datagram still takes that the next byte of a message is in."""
        return self._datagram - send.offset % self._datagram if self._datagram else self._packet

    def _abandon(self, send: Send, error: BusError) -> None:
        """The rest of its memory cannot be read. What has left already is completed with zeros, for
        packets cannot be taken back."""
        fail(send, ErrorKind.BUS_ERROR, str(error))
        self._untaken.pop(send.serial, None)
        if send.offset == 0:
            self._waiting.popleft()
            return
        rest = len(send.header) + send.length - send.offset
        send.header, send.body = bytes(send.offset + rest), NOTHING

    def _end(self, send: Send) -> None:
        if send.is_cut and not send.serial:
            send.body = NOTHING if send.done else send.body
            send.done = True

    def fail_all(self, text: str, kind: ErrorKind) -> None:
        for send in (*self._waiting, *self._untaken.values()):
            if not send.done:
                fail(send, kind, text)
        self._waiting.clear()
        self._untaken.clear()
