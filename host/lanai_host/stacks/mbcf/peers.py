"""The peers of a rank: which of them it has met, and its queues with each of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from lanai_hdl.remote.packets import Op, Status

from ...adapter.exposures import Exposure
from ...adapter.fifo import Fifo
from ...adapter.jobs import Job, Jobs
from ...adapter.opened import OpenedAdapter
from ...adapter.operation import Attachment, Token
from ...bus.base import Bus, Watched
from ...operation import Wait
from ...remote import Access
from .layout import ROOM, SIGNAL, MbcfOptions, Queue, QueueLayout
from .outbox import Outbox, Stream
from .receiving import Inbox, Receiving
from .requesting import Requesting, Source
from .sending import Sending

# This rank's memory for its peers' messages and requests, and the ways to theirs (MB-14).

NO_MESSAGE = 0  # in a signal, instead of a message's serial: only look
SIGNALS = 2  # number of the exposure of the same pages by which peers signal: the first after the adapter's own


class Queues:
    """The FIFOs of all peers, in one exposure.

    A second exposure of the same pages, `notices`, is for notices of remote writes. It is made
    anew, with another key, when requests are revoked: then no notice can say that a message is
    where it is not wanted any more. A third is for `signals`, a FIFO of all peers: what is appended
    by it interrupts this rank.
    """

    def __init__(self, bus: Bus, adapter: OpenedAdapter, attachment: Attachment, options: MbcfOptions) -> None:
        ranks = len(attachment.places)
        self._key = attachment.place.key
        self._ranks = {(place.node, place.process): rank for rank, place in enumerate(attachment.places)}
        self.layout = QueueLayout(ranks, options)
        self.rank = attachment.rank
        self.peers = [rank for rank in range(ranks) if rank != attachment.rank]
        self._adapter = adapter
        self._exposures = adapter.exposures
        self._payload = attachment.adapter.payload
        self._memory = bus.allocate(self.layout.size)
        self._own: Exposure | None = None
        self.notices: Exposure | None = None
        self._fifos = {(peer, queue): self._fifo(peer, queue) for peer in self.peers for queue in Queue}
        self.signals = self._fifo(self.rank, Queue.MESSAGES)  # no rank has messages for itself here

    def open(self) -> None:
        """Open the adapter with the memory."""
        self._own = self._adapter.open(self._memory, self.layout.size, Access.WRITE | Access.APPEND)
        signals = self._exposures.again(self._own, Access.APPEND | Access.SIGNAL, key=self._key)
        assert signals.number == SIGNALS
        self.renew_notices()

    def renew_notices(self) -> None:
        assert self._own is not None
        self.notices = self._exposures.again(self._own, Access.APPEND)

    def revoke_notices(self) -> None:
        """Notices that come from now on are refused."""
        assert self.notices is not None
        self._exposures.remove(self.notices)

    def greeting(self, peer: int, ended: Callable[[Status], None]) -> Job:
        """Is carried out if a peer has opened its queues. The word that it writes has that value already."""
        return Job(Op.WRITE, self.token(peer), self.room_there(peer), f"rank {peer} to open", ended, ROOM.pack(0))

    def announcement(self, peer: int, ended: Callable[[Status], None], again: bool) -> Job:
        """A signal by which a peer hears of this rank. It is carried out if the peer has opened its queues. `again`:
        there was no room for the one before."""
        token, at = self.signals_at(peer)
        op = Op.RETRY if again else Op.APPEND
        return Job(op, token, at, f"rank {peer} to open", ended, SIGNAL.pack(NO_MESSAGE))

    def fifo(self, peer: int, queue: Queue) -> Fifo:
        """The FIFO that a peer appends to."""
        return self._fifos[peer, queue]

    def _fifo(self, peer: int, queue: Queue) -> Fifo:
        layout = self.layout
        ring, pages = layout.ring(peer, queue), layout.pages(queue)
        return Fifo(self._memory, layout.control(peer, queue), ring, pages, self._payload)

    def token(self, peer: int) -> Token:
        """Names a peer's queues."""
        return self._adapter.token(peer, self.layout.size)

    def signals_at(self, peer: int) -> tuple[Token, int]:
        """Names a peer's queues to those who signal, and the offset of its FIFO for signals."""
        token = self.token(peer)
        return replace(token, exposure=token.exposure + SIGNALS), self.layout.control(peer, Queue.MESSAGES)

    def signaller(self) -> int:
        """The rank that has sent the oldest signal."""
        return self._ranks[self.signals.sender()]

    def offset(self, queue: Queue) -> int:
        """Return the offset of this rank's FIFO in any peer's queues."""
        return self.layout.control(self.rank, queue)

    def room_there(self, peer: int) -> int:
        """Return the offset of the word at any peer in which this rank counts how often it has emptied that peer's
        FIFO.
        """
        return self.layout.room(self.rank, Queue.MESSAGES)

    def room(self, peer: int) -> int:
        """Return how often a peer has emptied this rank's FIFO after a refusal."""
        at = self.layout.room(peer, Queue.MESSAGES)
        found: int = ROOM.unpack_from(self._memory.view, at)[0]
        return found

    def watched(self, peer: int, emptied: int) -> Watched:
        """Return the word that changes when a peer has emptied the FIFO again."""
        return Watched(self._memory, self.layout.room(peer, Queue.MESSAGES), ROOM.pack(emptied))

    def barrier_there(self) -> int:
        """Return the offset of the word at any peer that this rank writes for barriers."""
        return self.layout.barrier(self.rank)

    def barrier_word(self, peer: int) -> int:
        """Return the word that a peer has written for barriers."""
        found: int = ROOM.unpack_from(self._memory.view, self.layout.barrier(peer))[0]
        return found

    def barrier_watched(self, peer: int, seen: int) -> Watched:
        """Return the word that changes when a peer writes for barriers again."""
        return Watched(self._memory, self.layout.barrier(peer), ROOM.pack(seen))

    def __iter__(self) -> Iterator[int]:
        return iter(self.peers)


MEETING_POLL = 2_000_000  # picoseconds between two looks whether a peer is there
MEETING_POLLS = 10_000


class Peers:
    """All other ranks. A peer is met once it is known that it has opened its queues.

    In a small job this rank has queues for all peers from the start. In a large job (`large`) it gets them when it
    meets a peer, and polls those only.

    Attributes:
        unmet: ranks that this rank has not met yet.
    """

    def __init__(
        self,
        bus: Bus,
        jobs: Jobs,
        queues: Queues,
        sending: Sending,
        receiving: Receiving,
        requesting: Requesting,
        large: bool,
    ) -> None:
        self._bus = bus
        self._jobs = jobs
        self._queues = queues
        self._sending = sending
        self._receiving = receiving
        self._requesting = requesting
        self._large = large
        self.unmet = set(queues)
        self._connect(() if large else queues)

    def meet(self, peer: int, wait: Callable[[list[Status], Wait], bool]) -> None:
        """Wait until a peer has opened its queues. One that does not is lost.

        `wait` waits until a list has the status of a command that has ended. It returns False if this rank's NIC is
        lost.
        """
        self._arrange(peer)
        ends: list[Status] = []
        full = False
        for _ in range(MEETING_POLLS):
            if self._large:
                greeting = self._queues.announcement(peer, ends.append, full)
            else:
                greeting = self._queues.greeting(peer, ends.append)
            self._jobs.add(greeting)
            if not wait(ends, Wait("MPI_Init", note=greeting.what, awaits=(peer,))):
                return
            status = ends.pop()
            if status is Status.OK:
                return
            full = status is Status.FULL
            self._bus.elapse(MEETING_POLL)
        self._sending.lose(peer, f"rank {peer} has not opened its queues")

    def lose(self, peer: int, text: str) -> None:
        """Note that a peer which was not met is lost."""
        self._arrange(peer)
        self._sending.lose(peer, text)

    def hear_of(self, peer: int) -> None:
        """Note that a peer has signalled: it has opened its queues, and may send messages."""
        if self._large and peer in self.unmet:
            self._arrange(peer)

    def _arrange(self, peer: int) -> None:
        self.unmet.remove(peer)
        if self._large:
            self._connect((peer,))

    def _connect(self, peers: Iterable[int]) -> None:
        queues = self._queues
        for peer in peers:
            token = queues.token(peer)
            stream = Stream(self._jobs, queues.offset(Queue.MESSAGES), f"a message by FIFO to rank {peer}")
            self._sending.boxes[peer] = Outbox(peer, token, stream, queues.fifo(peer, Queue.REQUESTS))
            fifo = queues.fifo(peer, Queue.MESSAGES)
            self._receiving.boxes[peer] = Inbox(peer, fifo, token, queues.room_there(peer))
            self._requesting.sources[peer] = Source(peer, token, queues.offset(Queue.REQUESTS))
