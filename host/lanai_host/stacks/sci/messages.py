"""Sends: short ones in the control packet, longer ones in an eager slot, the longest in chunks when
a receive is there."""

from collections.abc import Mapping
from mmap import mmap

from ...body import Body
from ...bus.base import BusError
from ...config import HostCost
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter, Send, fail
from ...operation import ANY_SOURCE, DeviceError, ErrorKind
from .layout import INLINE, LINE, Kind, Layout, Packet
from .links import Link
from .operations import Arriving, Held, Interrupts, Leaving, Message, Receive

# Receives: messages meet them on this host, and are copied out of the segment,
# to where their datatypes say (SC-10).


class Receiving:
    """Messages to this rank."""

    def __init__(self, meter: Meter, layout: Layout, links: Mapping[int, Link], interrupts: Interrupts) -> None:
        self._meter = meter
        self._layout = layout
        self._links = links
        self._interrupts = interrupts
        self._arriving: dict[int, Arriving] = {}  # by number, which the sender names
        self._number = 0
        self._receives: set[Receive] = set()  # not done
        self.matcher: Matcher[Receive, Message] = Matcher(meter)

    def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        self._receives.add(receive)
        message = self.matcher.begin(receive)
        if message is not None:
            self.take(message, receive)

    def arrive(self, message: Message) -> None:
        """A message meets its receive, or is kept."""
        receive = self.matcher.arrive(message)
        if receive is not None:
            self.take(message, receive)

    def take(self, message: Message, receive: Receive) -> None:
        """They have met."""
        if message.kind is Kind.REQUEST:
            self._receives.add(receive)
            self._ask(message, receive)
            return
        if message.kind is Kind.EAGER:
            link = self._links[message.source]
            self._copy_out(receive, link.view(self._layout.slot(message.source, message.slot), message.length))
            link.send(Packet(Kind.EMPTY_SLOT, a=message.slot))
        else:
            self._copy_out(receive, memoryview(message.data))
        if message.number:
            self._links[message.source].send(Packet(Kind.MATCHED, a=message.number))
        if message.own_send is not None:
            message.own_send.done = True
        _finish(receive, message)
        self._receives.discard(receive)

    def chunk(self, link: Link, packet: Packet) -> None:
        """The next bytes of a message are there."""
        arriving = self._arriving[packet.a]
        receive = arriving.receive
        if packet.c:
            del self._arriving[packet.a]
            self._receives.discard(receive)
            fail(receive, ErrorKind.DAMAGED, f"rank {link.rank} could not read the message's memory")
            return
        self._take_chunk(arriving, link.view(self._layout.chunk(link.rank, packet.b), packet.length))
        link.send(Packet(Kind.EMPTY_CHUNK, a=packet.b), interrupts=self._interrupts.needed(receive.context))
        if arriving.got == arriving.wanted:
            del self._arriving[packet.a]
            if arriving.packed is not None:
                receive.put(self._meter, 0, memoryview(arriving.packed))
            _finish(receive, arriving.message)
            self._receives.discard(receive)

    def _take_chunk(self, arriving: Arriving, view: memoryview) -> None:
        end = arriving.got + len(view)
        if arriving.packed is None:
            arriving.receive.put(self._meter, arriving.got, view)
        else:
            self._meter.spend(HostCost.COPY, len(view))
            arriving.packed[arriving.got : end] = view
        arriving.got = end

    def lose(self, rank: int, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """The peer cannot be reached any more: what only it could end has failed."""
        for number, arriving in list(self._arriving.items()):
            if arriving.message.source == rank:
                del self._arriving[number]
                fail(arriving.receive, kind, text)
        for receive in self._receives:
            if receive.posted and receive.wanted_source in (rank, ANY_SOURCE):
                self.matcher.withdraw(receive)
                fail(receive, kind, text)
        self._receives = {receive for receive in self._receives if not receive.done}

    def forget(self, receive: Receive) -> None:
        """A receive that had met no message has been cancelled."""
        self._receives.discard(receive)

    def _ask(self, message: Message, receive: Receive) -> None:
        """Tell the sender that it may begin."""
        wanted = min(message.length, receive.body.size)
        self._number = (self._number + 1) & 0xFFFFFFFF
        ready = Packet(Kind.READY, length=wanted, a=message.number, b=self._number)
        self._links[message.source].send(ready, interrupts=self._interrupts.needed(receive.context))
        if wanted:
            packed = bytearray(wanted) if self._layout.options.packs(receive.body) else None
            self._arriving[self._number] = Arriving(receive, message, wanted, packed)
        else:
            _finish(receive, message)
            self._receives.discard(receive)

    def _copy_out(self, receive: Receive, data: memoryview) -> None:
        data = data[: receive.body.size]
        if self._layout.options.packs(receive.body):
            self._meter.spend(HostCost.COPY, len(data))
            data = memoryview(bytes(data))
        receive.put(self._meter, 0, data)


def _finish(receive: Receive, message: Message) -> None:
    receive.finish(message.source, message.tag, message.length)


LAST = 4096  # bytes of a message's last chunk, if it has several


class Sending:
    """Sends of this rank that are not done."""

    def __init__(
        self, meter: Meter, layout: Layout, links: Mapping[int, Link], rank: int, interrupts: Interrupts
    ) -> None:
        self._meter = meter
        self._layout = layout
        self._links = links
        self._interrupts = interrupts
        self._rank = rank
        self._waiting: dict[int, Send] = {}  # for their receivers' answers, by number
        self._number = 0
        self._unfinished: dict[Send, None] = {}  # in the order in which they began

    @property
    def idle(self) -> bool:
        return not self._unfinished

    def pending(self) -> list[Send]:
        """Sends that are not done, in the order in which they began."""
        return list(self._unfinished)

    def start(self, send: Send) -> None:
        """Begin a send to another rank. It leaves at `Link.advance`."""
        link = self._links[send.dest]
        self._unfinished[send] = None
        try:
            if send.body.size <= INLINE:
                self._start_short(link, send)
            elif send.body.size <= self._layout.options.eager and link.slots:
                self._start_eager(link, send)
            else:
                request = Packet(Kind.REQUEST, send.context, send.tag, send.body.size, self._wait(send))
                link.send(request, interrupts=self._interrupts.needed(send.context))
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
        self.forget_done()

    def ready(self, link: Link, packet: Packet) -> None:
        """A receive takes `length` bytes of a send that has asked for it."""
        send = self._waiting.pop(packet.a)
        leaving = Leaving(send, send.body, packet.b, packet.length)
        if leaving.wanted == 0:
            send.done = True
            return
        try:
            leaving.body = self._as_it_leaves(send.body.part(0, leaving.wanted))
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
            link.send(Packet(Kind.CHUNK, a=packet.b, c=1))
            return
        link.leaving.append(leaving)

    def matched(self, packet: Packet) -> None:
        """A synchronous send has met a receive."""
        send = self._waiting.pop(packet.a)
        send.done = True

    def advance(self, link: Link) -> None:
        """Fill the receiver's next free chunk buffer with any part of a message (SC-15), once it has
        been told of the one before: it empties that while this one is filled (SC-18)."""
        while link.leaving and link.chunks and not link.filling:
            self._put_chunk(link, link.leaving[0], link.take_chunk())
            if link.leaving[0].begun == link.leaving[0].wanted:
                link.leaving.popleft()

    def lose(self, rank: int, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """The peer cannot be reached any more."""
        for send in self._unfinished:
            if send.dest == rank:
                fail(send, kind, text)
        self._waiting = {number: send for number, send in self._waiting.items() if not send.done}
        self.forget_done()

    def _start_short(self, link: Link, send: Send) -> None:
        data = send.body.read()
        number = self._wait(send) if send.synchronous else 0
        packet = Packet(Kind.SHORT, send.context, send.tag, len(data), number, data=data)
        link.send(packet, interrupts=self._interrupts.needed(send.context))
        send.done = not send.synchronous

    def _start_eager(self, link: Link, send: Send) -> None:
        body = self._as_it_leaves(send.body)
        slot = link.take_slot()
        number = self._wait(send) if send.synchronous else 0
        data = link.put(self._layout.slot(self._rank, slot), body)

        def ended(error: DeviceError | None) -> None:
            if error is not None:
                link.free_slot(slot)
                self._waiting.pop(number, None)
                fail(send, ErrorKind.BUS_ERROR, error.text)
            elif not send.synchronous:
                send.done = True

        packet = Packet(Kind.EAGER, send.context, send.tag, body.size, number, slot)
        link.send(packet, data, ended, interrupts=self._interrupts.needed(send.context))
        early = data.done and not self._layout.options.stores  # who stores waits for the store barrier
        send.done = early and data.error is None and not send.synchronous

    def _put_chunk(self, link: Link, leaving: Leaving, buffer: int) -> None:
        begin = leaving.begun
        leaving.begun = end = begin + next_chunk(leaving.wanted - begin, self._layout.options.chunk)
        data = link.put(self._layout.chunk(self._rank, buffer), leaving.body.part(begin, end))

        def ended(error: DeviceError | None) -> Packet | None:
            if error is not None:
                link.free_chunk(buffer)
                fail(leaving.send, ErrorKind.BUS_ERROR, error.text)
                if leaving in link.leaving:
                    link.leaving.remove(leaving)
                return Packet(Kind.CHUNK, a=leaving.number, c=1)
            if end == leaving.wanted:
                leaving.send.done = True
            return None

        packet = Packet(Kind.CHUNK, length=end - begin, a=leaving.number, b=buffer)
        link.send(packet, data, ended, interrupts=self._interrupts.needed(leaving.send.context))

    def _as_it_leaves(self, body: Body) -> Body:
        """Return the memory its bytes are put from: its own, or a packed copy. Raises BusError."""
        if not self._layout.options.packs(body):
            return body
        held = Held(memoryview(mmap(-1, body.size)))  # it begins with a page, so bursts of the host bus are whole
        body.pack(0, body.size, held.address)
        self._meter.spend(HostCost.COPY, body.size)
        return held

    def _wait(self, send: Send) -> int:
        """A number for a send that its receiver answers."""
        self._number = (self._number + 1) & 0xFFFFFFFF or 1
        self._waiting[self._number] = send
        return self._number

    def forget_done(self) -> None:
        """Look which sends are done."""
        if self._unfinished:
            self._unfinished = {send: None for send in self._unfinished if not send.done}


def next_chunk(left: int, most: int) -> int:
    """The bytes of the next chunk, of those that are left. No chunk has more than half of them, down to
    `LAST`: nothing is on the wire while the receiver copies the last one. Each but the last is of whole
    lines, so that the next one begins with a line at both ends."""
    return min(left, most, max(LAST, left // 2 // LINE * LINE))
