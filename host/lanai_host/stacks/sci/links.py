"""The traffic between this rank and each other one: control packets in rings, and the bytes that they announce."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from ...adapter.remote import AdapterRemote
from ...adapter.transfers import Transfer
from ...body import Body
from ...bus.base import HostBuffer, Watched
from ...host_model.meter import Ledger
from ...operation import DeviceError, ErrorKind
from .layout import CHUNK_ROOM, CHUNKS, PACKET, RING_ROOM, SEQUENCES, SLOT_ROOM, WORD, Layout, Packet, State
from .operations import Held, Interrupts, Leaving

Ended = Callable[[DeviceError | None], Packet | None]


class Outgoing(NamedTuple):
    """A packet that waits to leave.

    Members:
        data: the bytes that it announces. It leaves when they are in the receiver's memory: the
            store barrier (SC-05).
        ended: told then, with the error if they could not be put there. What it answers to an error
            leaves instead.
        interrupts: the peer's processor is needed (SC-21).
    """

    packet: Packet
    data: Transfer | None = None
    ended: Ended | None = None
    interrupts: bool = False


class PeerSegment(Protocol):
    """A peer's segment, as this rank reaches it. Puts to one block of LINE bytes take effect in order."""

    local: bool  # it is on this rank's node, and reached without an adapter

    def put(self, offset: int, body: Body, alone: bool = False) -> Transfer:
        """Begin to write there. It fails as a bad request if the segment is not there yet. `alone`: what happens to
        other puts says nothing of this one.
        """

    def interrupt(self) -> None:
        """Interrupt the peer, behind all that was put before."""


class RemoteSegment:
    """On another node, by the adapter."""

    local = False

    def __init__(self, remote: AdapterRemote, interrupts: Interrupts, rank: int) -> None:
        self._remote = remote
        self._interrupts = interrupts
        self._rank = rank
        self._there = remote.first_segment(rank)

    def put(self, offset: int, body: Body, alone: bool = False) -> Transfer:
        return self._remote.put_own(self._there, offset, body, alone=alone)

    def interrupt(self) -> None:
        self._interrupts.send(self._rank)


class Link:
    """This rank's side of one pair.

    Args:
        there: the peer's segment.
        own: this rank's.

    Attributes:
        rank: the peer.
        lost: why it can be reached no more.
        slots, chunks: places in the peer's segment that this rank may fill.
        leaving: messages whose receivers are ready, oldest first.
    """

    def __init__(self, rank: int, there: PeerSegment, own: HostBuffer, layout: Layout, me: int, ledger: Ledger) -> None:
        self.rank = rank
        self.lost: str | None = None
        self.slots = list(range(layout.options.eager_slots))
        self.chunks = list(range(CHUNKS))
        self.leaving: deque[Leaving] = deque()
        self._there = there
        self._layout = layout
        self._state_at, self._taken_at = layout.state(rank), layout.taken(rank)
        self._me = me
        self._ledger = ledger
        self._buffer = own
        self._queue: deque[Outgoing] = deque()
        self._unchecked: deque[Transfer] = deque()  # puts of packets and words
        self._sent = 0  # packets
        self._got = 0
        self._sequence_at = layout.sequence(rank, 0)  # where the next packet will end
        self._told = 0  # packets got that the peer knows of
        self._hello: Transfer | None = None
        # What the words that `watched` names held when this rank looked last. Time may have passed
        # since, so they may have changed.
        self._seen_sequence = bytes(WORD.size)
        self._seen_state = bytes(2 * WORD.size)
        self._met = False  # the peer's segment was there when this rank said hello

    @property
    def present(self) -> bool:
        """The peer's segment is there, as far as this rank knows. In a small job (`SciOptions.greet`) one that was
        not there when this rank said hello says hello when it comes."""
        return self._met or self._word(self._state_at) != State.ABSENT

    @property
    def local(self) -> bool:
        return self._there.local

    @property
    def greeting(self) -> bool:
        """This rank has said hello, and does not know yet whether the peer's segment was there."""
        return self._hello is not None

    @property
    def left(self) -> bool:
        return self._word(self._state_at) == State.LEFT

    @property
    def idle(self) -> bool:
        return self.settled and not self._unchecked

    @property
    def settled(self) -> bool:
        """Nothing waits to leave, and nothing follows from the good end of puts."""
        return not (self._queue or self.leaving or self._hello)

    @property
    def filling(self) -> bool:
        """Bytes are under way that the peer has not been told of."""
        return any(one.data is not None for one in self._queue)

    @property
    def storing(self) -> bool:
        """The next packet that leaves waits for the bytes before it alone, and not for room at the peer."""
        return self.filling and self.lost is None and self._room()

    def greet(self) -> None:
        """Say hello to the peer."""
        self._hello = self._put_word(self._layout.state(self._me), State.PRESENT, alone=True)

    def send(
        self, packet: Packet, data: Transfer | None = None, ended: Ended | None = None, *, interrupts: bool = False
    ) -> None:
        """Queue a packet. None overtakes another. `advance` sends it."""
        self._queue.append(Outgoing(packet, data, ended, interrupts))

    def put(self, offset: int, body: Body) -> Transfer:
        """Begin to write to the peer's segment."""
        return self._there.put(offset, body)

    def take_slot(self) -> int:
        """Return a free slot, which is not free any more."""
        self._ledger.took(SLOT_ROOM, self.rank)
        return self.slots.pop(0)

    def take_chunk(self) -> int:
        """Return a free chunk buffer, which is not free any more."""
        self._ledger.took(CHUNK_ROOM, self.rank)
        return self.chunks.pop(0)

    def free_slot(self, number: int) -> None:
        """A slot is empty again."""
        self._ledger.has_back(SLOT_ROOM, self.rank)
        self.slots.append(number)

    def free_chunk(self, number: int) -> None:
        """A chunk buffer is empty again."""
        self._ledger.has_back(CHUNK_ROOM, self.rank)
        self.chunks.append(number)

    def arrived(self) -> Iterator[Packet]:
        """The packets that have come, in order."""
        while self._next() == (self._got + 1) % SEQUENCES:
            at = self._layout.packet(self.rank, self._got)
            self._got += 1
            self._sequence_at = self._layout.sequence(self.rank, self._got)
            self._ledger.freed(RING_ROOM, self.rank)
            yield Packet.unpack(self._buffer.view[at : at + PACKET])
        if self._got - self._told >= self._layout.options.ring // 2:
            self._told = self._got
            self._unchecked.append(self._put_word(self._layout.taken(self._me), self._got % SEQUENCES))

    def view(self, offset: int, size: int) -> memoryview:
        """Bytes of this rank's segment."""
        return self._buffer.view[offset : offset + size]

    def advance(self) -> None:
        """Send what can leave. Sets `lost` if the peer turns out to be."""
        self._seen_state = bytes(self._buffer.view[self._state_at : self._state_at + 2 * WORD.size])
        if self._hello is not None and self._hello.finished:
            self._end_hello(self._hello)
        if self._unchecked:
            self._check()
        if not self._queue:
            return
        while self._queue and self.lost is None and self._room():
            head = self._queue[0]
            if head.data is not None and not head.data.finished:
                break
            self._queue.popleft()
            self._leave(head)
        if self._unchecked:
            self._check()

    def leave(self) -> None:
        """Tell the peer that this rank has finished."""
        if self.present and not self.left and self.lost is None:
            self._unchecked.append(self._put_word(self._layout.state(self._me), State.LEFT, alone=True))

    def lose(self, text: str) -> None:
        """Nothing leaves any more."""
        self.lost = text
        self._queue.clear()
        self._unchecked.clear()
        self.leaving.clear()

    def watched(self) -> list[Watched]:
        """Return the words that the peer writes when something changes."""
        words = [Watched(self._buffer, self._sequence_at, self._seen_sequence)]
        if self._queue:
            words.append(Watched(self._buffer, self._state_at, self._seen_state))
        return words

    def _leave(self, head: Outgoing) -> None:
        error = None if head.data is None else head.data.error
        if error is not None and error.kind is ErrorKind.PEER_FAILED:
            self.lost = error.text
            return
        instead = None if head.ended is None else head.ended(error)
        packet = head.packet if error is None else instead
        if packet is not None and not self.left:  # who has finished needs none
            self._put_packet(packet)
            if head.interrupts:
                self._there.interrupt()

    def _put_packet(self, packet: Packet) -> None:
        data = packet.pack((self._sent + 1) % SEQUENCES)
        self._unchecked.append(self.put(self._layout.packet(self._me, self._sent), Held(data)))
        self._sent += 1
        self._ledger.took(RING_ROOM, self.rank)

    def _put_word(self, offset: int, value: int, alone: bool = False) -> Transfer:
        return self._there.put(offset, Held(WORD.pack(value)), alone)

    def _end_hello(self, hello: Transfer) -> None:
        self._hello = None
        if hello.error is None:
            self._met = True
        elif hello.error.kind is not ErrorKind.BAD_REQUEST:  # else its segment is not there yet
            self.lost = hello.error.text

    def _check(self) -> None:
        """A packet that did not arrive means that the peer is lost, unless it had finished and
        needs it no more."""
        while self._unchecked and self._unchecked[0].finished:
            error = self._unchecked.popleft().error
            if error is not None and not self.left:
                self.lost = error.text

    def _room(self) -> bool:
        taken = self._word(self._taken_at)
        return self.left or (self.present and (self._sent - taken) % SEQUENCES < self._layout.options.ring)

    def _word(self, offset: int) -> int:
        found: int = WORD.unpack_from(self._buffer.view, offset)[0]
        return found

    def _next(self) -> int:
        """The sequence number where the next packet will be."""
        at = self._sequence_at
        self._seen_sequence = bytes(self._buffer.view[at : at + WORD.size])
        return int.from_bytes(self._seen_sequence, "big")
