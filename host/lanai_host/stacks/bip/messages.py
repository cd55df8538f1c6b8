"""Sends, messages and receives under way."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from lanai_firmware.programs.bip.layout import Type

from ...body import Body
from ...bus.base import BusError, Pinned
from ...config import HostCost
from ...host_model import meter as operations
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter, Receive, fail
from ...operation import ErrorKind
from ...scratch_pool import POOL, Bytes
from ..pinning import Pins
from .attachment import BipOptions, Head
from .link import Link, Outbox, landing_size


class Send(operations.Send):
    """`handle`: its number, by which its receiver answers; 0 for one that needs no answer."""

    __slots__ = ("handle", "region")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.handle = 0
        self.region: Region | None = None


@dataclass(slots=True, eq=False)
class Message(operations.Message):
    """`data`: its bytes; None for a long one. `handle`: the sender's number of it, if that waits for an answer; 0 if
    not."""

    data: bytes | None = None
    handle: int = 0


class Region:
    """Memory of one long message, pinned. Where a body lies in several runs, it is a copy of them. `done`:
    bytes that have been moved. Raises BusError."""

    def __init__(self, pins: Pins, meter: Meter, body: Body, size: int, *, writable: bool) -> None:
        self._pins = pins
        self._meter = meter
        self._body = body
        self.size = size
        self.done = 0
        self._copy: Bytes | None = None
        self.address = body.address
        if body.count_runs(0, size) > 1:
            self._copy, self.address = POOL.take(size)
            if not writable:
                body.pack(0, size, self.address)
                meter.spend(HostCost.COPY, size)
        self.pinned: Pinned = pins.pin(self.address, size, writable)

    def release(self) -> None:
        self._pins.release(self.pinned)

    def write_back(self, receive: Receive) -> None:
        """The bytes that came to a copy go to where the program wants them."""
        if self._copy is not None:
            receive.put(self._meter, 0, self._copy.data)


@dataclass
class Landing:
    """A long message on its way into the memory of its receive. `region` None: its memory cannot be
    written, and nothing is granted."""

    message: Message
    receive: Receive
    region: Region | None
    granted: int = 0  # bytes of the landing that the NIC has


# Sends: short ones leave at once, as far as credit goes. Long ones tell of themselves, and wait until their receivers
# grant them (rendezvous).


class Grant(NamedTuple):
    """Bytes of a long send that its receiver awaits. `last`: it will have no more."""

    send: Send
    size: int
    last: bool


class Sending:
    """Sends of this rank that are not done. The NIC moves one long message at a time; others wait."""

    def __init__(self, meter: Meter, link: Link, outbox: Outbox, pins: Pins, options: BipOptions, ranks: int) -> None:
        self._meter = meter
        self._link = link
        self._outbox = outbox
        self._pins = pins
        self._options = options
        self._sequences = [0] * ranks
        self._handle = 0
        self._unwritten: list[Send] = []  # in the order in which they were started
        self._answered: dict[int, Send] = {}  # sends that wait for an answer, by handle
        self._grants: deque[Grant] = deque()
        self._moving: Grant | None = None  # what the NIC has

    @property
    def is_idle(self) -> bool:
        return not (self._unwritten or self._answered or self._grants or self._moving)

    def queue(self, send: Send) -> None:
        """A message that leaves behind those before it to the same rank."""
        self._unwritten.append(send)
        self._outbox.put(send.dest, lambda: self._make(send))

    def pending(self) -> list[Send]:
        """Sends that are not done."""
        return [*self._answered.values(), *self._unwritten]

    def taken(self, handle: int) -> None:
        """A receive has a synchronous message."""
        self._answered.pop(handle).done = True

    def grant(self, handle: int, size: int, last: bool) -> None:
        """The receiver of a long message awaits its next bytes."""
        self._grants.append(Grant(self._answered[handle], size, last))
        self.advance()

    def advance(self) -> None:
        """See whether the NIC has taken the bytes that it was given, and give it the next."""
        if self._moving is not None and self._link.long_is_free:
            grant, self._moving = self._moving, None
            self._end(grant)
        while self._grants and self._moving is None:
            grant = self._grants.popleft()
            region = grant.send.region
            if not grant.size or region is None:
                self._end(grant)
                continue
            self._moving = grant
            packet = self._options.packet_of(grant.size)
            self._link.send_long(grant.send.dest, region.pinned, region.address + region.done, grant.size, packet)
            region.done += grant.size

    def fail_all(self, kind: ErrorKind, text: str) -> None:
        for send in self.pending():
            fail(send, kind, text)
        self._unwritten.clear()
        self._answered.clear()
        self._grants.clear()
        self._moving = None

    def _make(self, send: Send) -> tuple[Head, bytes] | None:
        """The packet of a send whose turn has come; None if its memory cannot be read."""
        self._unwritten.remove(send)
        size = send.body.size
        try:
            if size > self._options.short:
                send.region = Region(self._pins, self._meter, send.body, size, writable=False)
                kind, data = Type.ASK, b""
            else:
                kind, data = Type.SYNC if send.synchronous else Type.EAGER, send.body.read()
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
            return None
        if kind is Type.EAGER:
            send.done = True
        else:
            self._handle = self._handle % 0xFFFF_FFFF + 1
            send.handle = self._handle
            self._answered[send.handle] = send
        sequence = self._sequences[send.dest]
        self._sequences[send.dest] = sequence + 1 & 0xFFFF
        return Head(kind, 0, 0, send.tag, size, send.context, sequence, send.handle), data

    def _end(self, grant: Grant) -> None:
        """The bytes of a grant have been taken."""
        if not grant.last:
            return
        send = grant.send
        assert send.region is not None
        send.region.release()
        send.region = None
        del self._answered[send.handle]
        send.done = True


# Packets become messages, and messages meet receives, on the host.


class Receiving:
    """Messages to this rank. One long message of a channel is on its way at a time; others wait."""

    def __init__(self, meter: Meter, link: Link, outbox: Outbox, pins: Pins, ranks: int) -> None:
        self._meter = meter
        self._link = link
        self._outbox = outbox
        self._pins = pins
        self.matcher: Matcher[Receive, Message] = Matcher(meter)
        self._landings: list[deque[Landing]] = [deque() for _ in range(ranks)]  # the first has the NIC's landing
        self.busy = 0  # landings

    def take_packet(self, source: int, head: Head, data: bytes) -> None:
        """A packet with the envelope of a message."""
        body = None if head.type == Type.ASK else data[: head.length]
        self.arrive(Message(source, head.tag, head.context, head.length, body, head.handle))

    def arrive(self, message: Message) -> None:
        """A message meets its receive, or is kept: its bytes, if it has any, are copied then too."""
        receive = self.matcher.arrive(message)
        if receive is not None:
            self.take(message, receive)
        elif message.data:
            self._meter.spend(HostCost.COPY, len(message.data))

    def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        message = self.matcher.begin(receive)
        if message is not None:
            self.take(message, receive)

    def take(self, message: Message, receive: Receive) -> None:
        """A receive has its message, or the promise of it."""
        if message.data is None:
            self._await_long(message, receive)
            return
        if message.own_send is not None:
            message.own_send.done = True
        elif message.handle:
            self._outbox.put_head(message.source, Head(Type.TAKEN, handle=message.handle))
        receive.put(self._meter, 0, memoryview(message.data))
        receive.finish(message.source, message.tag, message.length)

    def advance(self) -> None:
        """Continue with the landings that are complete."""
        if not self.busy:
            return
        for source, landings in enumerate(self._landings):
            if landings and self._link.has_landed(source):
                self._continue(landings)

    def clear(self) -> None:
        """Nothing lands any more."""
        for landings in self._landings:
            landings.clear()
        self.busy = 0

    def _await_long(self, message: Message, receive: Receive) -> None:
        """Ask for a long message behind those of its channel that were asked for before."""
        receive.source, receive.tag = message.source, message.tag
        landings = self._landings[message.source]
        landings.append(Landing(message, receive, self._lend(message, receive)))
        self.busy += 1
        if len(landings) == 1:
            self._grant(landings)

    def _lend(self, message: Message, receive: Receive) -> Region | None:
        """Pin the memory that the bytes of a message shall go to. None if there is none."""
        size = min(message.length, receive.body.size)
        if not size:
            return None
        try:
            return Region(self._pins, self._meter, receive.body, size, writable=True)
        except BusError as error:
            fail(receive, ErrorKind.BUS_ERROR, str(error))
            return None

    def _grant(self, landings: deque[Landing]) -> None:
        """Have the next bytes of the first message of a channel sent. The sender of one that is to have none
        is told so, and the next one follows."""
        while landings:
            landing = landings[0]
            message, region = landing.message, landing.region
            if region is not None:
                size = landing_size(region.address + region.done, region.size - region.done)
                self._link.land(message.source, region.pinned, region.address + region.done, size)
                region.done += size
                self._tell(message, size, last=region.done == region.size)
                return
            self._tell(message, 0, last=True)
            self._end(landings)

    def _tell(self, message: Message, size: int, *, last: bool) -> None:
        head = Head(Type.GRANT, tag=message.source, length=size, sequence=int(last), handle=message.handle)
        self._outbox.put_head(message.source, head)

    def _continue(self, landings: deque[Landing]) -> None:
        """All that was granted of the first message of a channel is there."""
        region = landings[0].region
        assert region is not None
        if region.done == region.size:
            region.release()
            region.write_back(landings[0].receive)
            self._end(landings)
        self._grant(landings)

    def _end(self, landings: deque[Landing]) -> None:
        landing = landings.popleft()
        self.busy -= 1
        if not landing.receive.done:  # its memory could not be written
            message = landing.message
            landing.receive.finish(message.source, message.tag, message.length)
