"""Messages that leave: SENDs to each peer in order, again those that found no room, and the long ones' memory."""

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from lanai_hdl.remote.messages import HEADER_BYTES
from lanai_hdl.remote.packets import Op, Status

from ...adapter.exposures import pages_of
from ...adapter.jobs import Job, Jobs
from ...adapter.lending import MOST_PAGES, Lending, Lent
from ...adapter.matching import envelope, headed
from ...adapter.operation import REASONS, Token
from ...adapter.remote import AdapterRemote
from ...bus.base import Bus, BusError
from ...host_model.meter import fail
from ...operation import ErrorKind
from ...remote import Access, Exposure
from .messages import SERIAL_BITS, SIGNALLED, SIGNALS, Kind, Notice, Send, note

RETRY = 2_000_000  # picoseconds until a SEND that found no room, or no peer yet, is sent again
MEETING_TRIES = 10_000  # of the first SEND to a peer, which may not have opened its FIFO yet
MOST_HELD = 6  # long messages whose memory is exposed before a receive wants them: other users need exposures too
ROOM = (Status.FULL, Status.BEFORE)


@dataclass
class Packet:
    """A SEND that may have to be sent again.

    Attributes:
        send: what it is part of; None for an answer.
        last: once it is at the peer, so is all of `send`.
    """

    kind: Kind
    tag: int
    context: int
    serial: int
    data: bytes
    send: Send | None = None
    last: bool = False

    @property
    def envelope(self) -> int:
        if self.kind >= Kind.ANSWER:
            return envelope(self.tag, aside=1)
        return envelope(self.tag, record=int(self.kind is not Kind.MESSAGE))


@dataclass
class Peer:
    """A rank that this one sends to.

    Attributes:
        queue: oldest first: packets, and messages of which no packet has been made yet. A message whose bytes go as
            DATA stays until all have left.
        flying: at the NIC, oldest first; refused: those of them that come back.
        met: it has taken a packet.
        barred: the next one must be sent AGAIN.
        not_before: when the oldest may be sent again.
        waits: messages that wait for an answer, by serial; held: the memory of those that are LONG.
    """

    rank: int
    token: Token
    queue: deque[Packet | Iterator[Packet] | Send] = field(default_factory=deque)
    flying: deque[Packet] = field(default_factory=deque)
    refused: list[Packet] = field(default_factory=list)
    met: bool = False
    barred: bool = False
    not_before: int = 0
    tries: int = 0
    lost: str = ""
    serial: int = 0
    waits: dict[int, Send] = field(default_factory=dict)
    held: dict[int, Lent | Exposure] = field(default_factory=dict)


class Sending:
    """Messages of this rank, `rank`. `payload` is the most bytes of a packet.

    Attributes:
        peers: those that it has sent to.
        news_of_lost: peers that cannot be reached, and why.
        sent, long: messages that have left, and those of them whose bytes the receiver reads.
    """

    def __init__(
        self,
        rank: int,
        bus: Bus,
        jobs: Jobs,
        lending: Lending,
        remote: AdapterRemote,
        tokens: dict[int, Token],
        payload: int,
    ) -> None:
        self._rank = rank
        self._bus = bus
        self._jobs = jobs
        self._lending = lending
        self._remote = remote
        self._tokens = tokens
        self.most = payload - HEADER_BYTES
        self.peers: dict[int, Peer] = {}
        self._held = 0
        self.news_of_lost: list[tuple[int, str]] = []
        self.sent = self.long = 0

    def send(self, send: Send) -> None:
        """Begin a message."""
        peer = self._peer(send.dest)
        if peer.lost:
            fail(send, ErrorKind.PEER_FAILED, peer.lost)
            return
        peer.queue.append(send)
        self._advance(peer)

    def leaves(self, send: Send) -> bool:
        """Return whether a message is about to leave: it waits for a command buffer, or for its peer to open its
        FIFO. One that waits for room is not."""
        peer = self.peers[send.dest]
        return not (peer.lost or peer.barred) and (not peer.met or send in peer.queue)

    def tell(self, rank: int, kind: Kind, serial: int) -> None:
        """Answer a message, whose sender may be lost."""
        peer = self._peer(rank)
        if not peer.lost:
            peer.queue.append(Packet(kind, 0, 0, serial, b""))
            self._advance(peer)

    def answer(self, rank: int, serial: int) -> None:
        """Tell a message's sender that it has met its receive. This rank knows it at once."""
        if rank == self._rank:
            self.answered(rank, serial)
        else:
            self.tell(rank, Kind.ANSWER, serial)

    def answered(self, rank: int, serial: int) -> None:
        """A message has met its receive, which has all of it."""
        send = self._take_waiting(rank, serial)
        if send is not None:
            send.done = True

    def wanted(self, rank: int, serial: int) -> None:
        """A receive wants the bytes of a message that was HELD_BACK."""
        send = self._take_waiting(rank, serial)
        if send is not None:
            peer = self.peers[rank]
            peer.queue.append(self._pieces(send, serial))
            self._advance(peer)

    def advance(self) -> None:
        """Send what may leave."""
        for peer in self.peers.values():
            if peer.queue:
                self._advance(peer)

    @property
    def idle(self) -> bool:
        return not any(peer.queue or peer.flying for peer in self.peers.values())

    @property
    def retries(self) -> bool:
        """Something waits for the time at which it is sent again."""
        return any(peer.queue and not peer.flying and not self._open(peer) for peer in self.peers.values())

    def pending(self) -> Iterator[Send]:
        """Sends that are not done."""
        for peer in self.peers.values():
            yield from peer.waits.values()
            yield from (one for one in peer.queue if isinstance(one, Send))

    def withdraw(self, send: Send) -> bool:
        """Take a message back of which nothing has left."""
        peer = self.peers.get(send.dest)
        if peer is None or send not in peer.queue:
            return False
        peer.queue.remove(send)
        return True

    def lose(self, rank: int, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """Nothing reaches a peer any more."""
        peer = self._peer(rank)
        peer.lost = text
        for packet in [*peer.queue, *peer.flying, *peer.refused]:
            send = packet.send if isinstance(packet, Packet) else packet
            if isinstance(send, Send):
                fail(send, kind, text)
        for send in peer.waits.values():
            fail(send, kind, text)
        for held in peer.held.values():
            self._release(held, kind is not ErrorKind.NIC_LOST)
        for one in (peer.queue, peer.refused, peer.waits, peer.held):
            one.clear()

    def _peer(self, rank: int) -> Peer:
        found = self.peers.get(rank)
        if found is None:
            found = self.peers[rank] = Peer(rank, self._tokens[rank])
        return found

    def _open(self, peer: Peer) -> bool:
        """Return whether the next packet may go, as far as the peer is known."""
        return (peer.met and not peer.barred) or (not peer.flying and self._bus.now >= peer.not_before)

    def _advance(self, peer: Peer) -> None:
        while peer.queue and not peer.lost and not peer.refused and self._open(peer) and self._jobs.free:
            packet = self._next(peer)
            if packet is None:
                continue
            what = f"a message to rank {peer.rank}"
            peer.flying.append(packet)
            data = headed(packet.context, note(packet.kind, packet.serial), packet.data)
            ended = partial(self._ended, peer, packet)
            token = peer.token
            if packet.kind in SIGNALLED:
                token = replace(token, exposure=token.exposure + SIGNALS)
            self._jobs.add(Job(Op.SEND, token, packet.envelope, what, ended, data, again=peer.barred))
            self._jobs.begin()
            if packet.send is not None and packet.kind is Kind.MESSAGE:
                packet.send.done = True  # its bytes have been copied

    def _next(self, peer: Peer) -> Packet | None:
        """The next packet, which leaves the queue; None if there is none in what has left it."""
        first = peer.queue[0]
        if isinstance(first, Packet | Send):
            peer.queue.popleft()
            return first if isinstance(first, Packet) else self._first(peer, first)
        packet = next(first, None)
        if packet is None:
            peer.queue.popleft()
        return packet

    def _first(self, peer: Peer, send: Send) -> Packet | None:
        """The packet with which a message begins."""
        kind, data = Kind.SYNCHRONOUS if send.synchronous else Kind.MESSAGE, b""
        if send.length > self.most:
            self._draw(peer, send)
            kind, data = self._notice(peer, send)
        else:
            try:
                data = send.body.read()
            except BusError as error:
                fail(send, ErrorKind.BUS_ERROR, str(error))
                return None
            if send.synchronous:
                self._draw(peer, send)
        self.sent += 1
        return Packet(kind, send.tag, send.context, send.serial, data, send)

    @staticmethod
    def _draw(peer: Peer, send: Send) -> None:
        """Give a message that waits for an answer a serial which no other one has."""
        while peer.serial in peer.waits:
            peer.serial = (peer.serial + 1) % (1 << SERIAL_BITS)
        send.serial = peer.serial
        peer.serial = (peer.serial + 1) % (1 << SERIAL_BITS)
        peer.waits[send.serial] = send

    def _notice(self, peer: Peer, send: Send) -> tuple[Kind, bytes]:
        """The notice of a long message, with a token if there is room to expose its memory."""
        if self._held == MOST_HELD or send.body.runs != 1:
            return Kind.HELD_BACK, Notice(send.length).pack()
        address = send.body.address
        held: Lent | Exposure | None = None
        with suppress(BusError):  # who wants the bytes finds the error again
            if pages_of(address, send.length) > MOST_PAGES:
                held = self._remote.expose(address, send.length, Access.READ)
            else:
                held = self._lending.lend(address, send.length, writable=False, access=Access.READ, lasting=False)
        if held is None:
            return Kind.HELD_BACK, Notice(send.length).pack()
        peer.held[send.serial] = held
        self._held += 1
        self.long += 1
        if isinstance(held, Exposure):
            return Kind.LONG, Notice(send.length, held.token).pack()
        token = replace(held.exposure.token, first=held.exposure.offset(address), size=send.length)
        return Kind.LONG, Notice(send.length, token.pack()).pack()

    def _pieces(self, send: Send, serial: int) -> Iterator[Packet]:
        """The bytes of a message in packets. An empty one says that they cannot be read."""
        for begin in range(0, send.length, self.most):
            end = min(send.length, begin + self.most)
            try:
                data = send.body.part(begin, end).read()
            except BusError as error:
                fail(send, ErrorKind.BUS_ERROR, str(error))
                yield Packet(Kind.DATA, 0, 0, serial, b"")
                return
            yield Packet(Kind.DATA, 0, 0, serial, data, send, last=end == send.length)

    def _take_waiting(self, rank: int, serial: int) -> Send | None:
        """The message with that serial, which waits no longer. None if the peer tells nonsense."""
        peer = self.peers.get(rank)
        if peer is None:
            return None
        held = peer.held.pop(serial, None)
        if held is not None:
            self._release(held)
        return peer.waits.pop(serial, None)

    def _release(self, held: Lent | Exposure, there: bool = True) -> None:
        """The memory of a long message is the program's alone again. Unless the NIC is `there`, it is anyhow."""
        self._held -= 1
        if isinstance(held, Lent):
            held.users -= 1
        elif there:
            self._remote.conceal(held)

    def _ended(self, peer: Peer, packet: Packet, status: Status) -> None:
        peer.flying.remove(packet)
        if peer.lost:
            return
        if status is Status.OK:
            peer.met, peer.barred, peer.tries = True, False, 0
            if packet.last and packet.send is not None:
                packet.send.done = True
        elif status in ROOM or (status is Status.EXPOSURE and not peer.met and peer.tries < MEETING_TRIES):
            peer.barred = peer.barred or status in ROOM
            peer.refused.append(packet)
        else:
            why = REASONS[status] if peer.met or status is not Status.EXPOSURE else "it has not opened its queue"
            self.news_of_lost.append((peer.rank, f"rank {peer.rank} cannot be reached: {why}"))
            peer.lost = self.news_of_lost[-1][1]
        if peer.refused and not peer.flying:
            peer.queue.extendleft(reversed(peer.refused))
            peer.refused.clear()
            peer.tries += 1
            peer.not_before = self._bus.now + RETRY
