"""Receives: messages meet them on this host, and are copied out of the segment,
to where their datatypes say (SC-10)."""

from collections.abc import Mapping

from ...config import HostCost
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter
from ...host_model.operations import fail
from ...operation import ANY_SOURCE, ErrorKind
from .interrupts import Interrupts
from .layout import Layout
from .links import Link
from .operations import Arriving, Message, Receive
from .packets import Kind, Packet


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
