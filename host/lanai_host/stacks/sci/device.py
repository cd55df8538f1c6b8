"""The device as the MPI library sees it."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from ...adapter.opened import OpenedAdapter
from ...adapter.operation import Attachment
from ...adapter.remote import AdapterRemote, buffer_of
from ...body import Body
from ...bus.base import Bus, KnownPoll, Watched
from ...config import HostConfig, HostCost
from ...device import Arrived, RoomSink, SendMode, nothing
from ...host_model.meter import Ledger, Meter, Send, fail
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..host_matching import HostMatchingDevice
from .layout import Kind, Layout, Packet, SciOptions
from .links import Link, PeerSegment, RemoteSegment
from .messages import Receiving, Sending
from .operations import Interrupts, LocalSegment, Message, Receive, is_local

MESSAGES = (Kind.SHORT, Kind.EAGER, Kind.REQUEST)
MEETING_POLL = 2_000_000  # picoseconds between two looks whether a peer is there
MEETING_POLLS = 10_000
LOST, SETTLED = attrgetter("lost"), attrgetter("settled")


class Sci(HostMatchingDevice[Receive, Message]):
    """Messages through segments of memory that the peers write. Nothing moves on while the program
    is outside the library.

    In a large job (`SciOptions.greet`) this rank polls for those ranks only that it has talked to, and those of its
    node. Others announce themselves by a remote interrupt.
    """

    keeps_news = True

    def __init__(self, bus: Bus, attachment: Attachment, costs: HostConfig) -> None:
        self.rank = attachment.rank
        self.size = len(attachment.places)
        options = SciOptions(**attachment.options)
        layout = Layout(self.size, options, attachment.adapter.stream_bytes)
        meter = Meter(costs, bus.elapse)
        adapter = OpenedAdapter(bus, attachment, meter, attachment.adapter.payload)
        self.remote: AdapterRemote = AdapterRemote(bus, adapter, meter)
        own = self.remote.open(layout.size)
        self._own = buffer_of(own)
        self.remote.listen()
        self._interrupts = interrupts = Interrupts(bus, self.remote, layout, attachment.adapter.payload, costs)
        self.work = self._work
        self.remote.private = options.private == "register"
        self.remote.longest_get = options.most_read
        self.remote.by_processor = options.stores
        self._ledger = ledger = Ledger(self.rank)
        peers = [rank for rank in range(self.size) if rank != self.rank]

        def segment(rank: int) -> PeerSegment:
            if options.node == "memory" and is_local(attachment, rank):
                return LocalSegment(bus, attachment, meter, own, rank)
            return RemoteSegment(self.remote, interrupts, rank)

        self._links = {rank: Link(rank, segment(rank), self._own, layout, self.rank, ledger) for rank in peers}
        self._sending = Sending(meter, layout, self._links, self.rank, interrupts)
        self._receiving = Receiving(meter, layout, self._links, interrupts)
        super().__init__(bus, meter, self._receiving.matcher, costs.watchdog)
        self._news = 0
        self._large = self.size > options.greet
        self._ranks = {(place.node, place.process): rank for rank, place in enumerate(attachment.places)}
        self._known = {rank: link for rank, link in self._links.items() if not self._large or link.local}
        for link in self._known.values():
            link.greet()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        send = Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS)
        return self._start(send, self._send, self._to_self)

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        receive = Receive(source, tag, context, body)
        self._receive(receive)
        return receive

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        assert isinstance(arrived.handle, Message)
        receive = Receive(arrived.source, arrived.tag, arrived.context, body)
        self._receive(receive, arrived.handle)
        return receive

    def report_room(self, sink: RoomSink) -> None:
        self._ledger.sink = sink

    def interrupt_for(self, contexts: Iterable[int]) -> None:
        self._interrupts.add(contexts)

    def _sends(self) -> Iterable[Send]:
        return self._sending.pending()

    def _forget(self, receive: Receive) -> None:
        self._receiving.forget(receive)

    def _send(self, send: Send) -> None:
        link = self._links[send.dest]
        self._meet(link)
        if link.lost is not None:
            fail(send, ErrorKind.PEER_FAILED, link.lost)
            return
        self._sending.start(send)
        link.advance()
        why = Wait("MPI_Isend", send.dest, send.tag, note="the store barrier behind its bytes")
        self._await(lambda: not link.storing, why, look=False)
        self._lose_lost()

    def _meet(self, link: Link) -> None:
        """In a large job: wait until a peer has its segment and knows this rank. One whose segment does not come
        is lost."""
        if link.rank in self._known:
            return
        self._known[link.rank] = link
        why = Wait("MPI_Init", note=f"rank {link.rank} to open its segment", awaits=(link.rank,))
        for _ in range(MEETING_POLLS):
            link.greet()
            self._await(lambda: not link.greeting or link.lost is not None, why)
            if link.present and self._announce(link, why):
                return
            if link.lost is not None:
                return
            self._bus.elapse(MEETING_POLL)
        link.lose(f"rank {link.rank} has not opened its segment")
        self._lose_lost()

    def _announce(self, link: Link, why: Wait) -> bool:
        """Interrupt a peer, so that it polls for this rank from now on. Return whether it will."""
        signal = self._interrupts.send(link.rank)
        self._await(lambda: signal.finished, why)
        if signal.error is not None and signal.error.kind is not ErrorKind.BAD_REQUEST:  # else there is no room
            link.lose(signal.error.text)
            self._lose_lost()
        return signal.error is None

    def _hear_of(self, rank: int) -> None:
        """A peer has sent an interrupt: it may send messages."""
        self._known.setdefault(rank, self._links[rank])

    def _await(self, over: Callable[[], bool], why: Wait, *, look: bool = True) -> None:
        if look:
            self._look()
        while not over():
            self._sleep(why)
            self._look()

    def _to_self(self, send: Send, data: bytes) -> None:
        """A match on this host."""
        own = send if send.synchronous else None
        self._receiving.arrive(Message(self.rank, send.tag, send.context, len(data), data=data, own_send=own))
        self._advance()

    def _receive(self, receive: Receive, message: Message | None = None) -> None:
        if self._refused(receive):
            return
        link = self._links.get(receive.source)
        if message is not None:
            self._receiving.take(message, receive)
        elif link is not None and link.lost is not None:
            fail(receive, ErrorKind.PEER_FAILED, link.lost)
        else:
            self._receiving.receive(receive)
        self._advance()

    def _rest(self, why: Wait, first: bool = False) -> None:
        watched = self._watched()
        look = self._known_poll(watched, first) if self._awaited else None
        slept = None if look is None else self._poll_and_sleep(watched, look, why)
        if look is None:
            self._sleep_on(watched, why)
        elif slept is not None and slept.noted:
            self._news += self.remote.note()
            self._advance()

    def _known_poll(self, watched: Sequence[Watched], first: bool) -> KnownPoll | None:
        """`AdapterRemote.known_poll`, if nothing here follows from a command's end either."""
        if not self._sending.idle or self._interrupts.expected or self._meter.owed or self._meter.sink:
            return None
        if not all(map(SETTLED, self._known.values())):
            return None
        return self.remote.known_poll(watched, self._meter.costs.price(HostCost.POLL, self._polls))

    def _work(self, picoseconds: int, served: Callable[[], None] = nothing) -> None:
        """Remote interrupts break the program's own work off (SC-21). Nothing else does."""

        def interrupted() -> None:
            self._look()
            served()
            while any(link.filling for link in self._live()):
                self._sleep(Wait("the program's own work", note="what a remote interrupt asked for leaves"))
                self._look()
                served()

        self._interrupts.work(picoseconds, interrupted)

    def _watched(self) -> list[Watched]:
        """All that may tell of news; a word that does not change if there is none."""
        words = self.remote.watched()
        for link in self._live():
            words += link.watched()
        if self._large:
            words.append(self._interrupts.watched())
        return words or [Watched(self._own, 0, bytes(self._own.view[:4]))]

    def _look(self) -> None:
        """Once over all that peers may have written."""
        self._meter.spend(HostCost.POLL, self._polls)
        for origin in self._interrupts.take():
            self._hear_of(self._ranks[origin])
        if self.remote.look():
            self._news += 1
        for link in self._live():
            for packet in link.arrived():
                self._news += 1
                self._handle(link, packet)
        self._advance()
        self._lose_lost()

    def _advance(self) -> None:
        for link in self._live():
            link.advance()
            if link.leaving:
                self._sending.advance(link)
                link.advance()
        self._sending.forget_done()

    def _handle(self, link: Link, packet: Packet) -> None:
        if packet.kind in MESSAGES:
            kind, context, tag, length, number, slot, _, data = packet
            self._receiving.arrive(Message(link.rank, tag, context, length, kind, number, slot, data))
        elif packet.kind is Kind.CHUNK:
            self._receiving.chunk(link, packet)
        elif packet.kind is Kind.READY:
            self._sending.ready(link, packet)
        elif packet.kind is Kind.MATCHED:
            self._sending.matched(packet)
        elif packet.kind is Kind.EMPTY_SLOT:
            link.free_slot(packet.a)
        else:
            link.free_chunk(packet.a)

    def _live(self) -> list[Link]:
        known = list(self._known.values())
        return [link for link in known if link.lost is None] if any(map(LOST, known)) else known

    @property
    def _polls(self) -> int:
        """The words that a poll looks at."""
        return max(1, len(self._known) + self._large)

    def _lose_lost(self) -> None:
        """Act on the peers that have turned out to be lost."""
        for link in self._known.values():
            if link.lost is not None:
                self._note_silent(link.rank, link.lost)

    def _lose(self, rank: int, text: str) -> None:
        self._links[rank].lose(text)
        self._news += 1
        self._sending.lose(rank, text)
        self._receiving.lose(rank, text)

    def _lose_nic(self, text: str) -> None:
        kind = ErrorKind.NIC_LOST
        for link in self._links.values():
            link.lose(text)
        for rank in range(self.size):
            self._sending.lose(rank, text, kind)
            self._receiving.lose(rank, text, kind)
        self.remote.abandon(DeviceError(kind, text))

    @property
    def _found(self) -> int:
        return self._news

    def close(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        self._until_idle(why)
        for link in self._live():
            link.leave()
        self._until_idle(why)
        self.remote.close()

    def _until_idle(self, why: Wait) -> None:
        def idle() -> bool:
            return self.remote.idle and self._sending.idle and all(link.idle for link in self._live())

        self._until(idle, why)
