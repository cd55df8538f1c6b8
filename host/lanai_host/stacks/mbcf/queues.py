"""This rank's memory for its peers' messages and requests, and the ways to theirs (MB-14)."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from lanai_hdl.remote.packets import Op, Status

from ...adapter.attachment import Attachment
from ...adapter.exposures import Exposure
from ...adapter.fifo import Fifo
from ...adapter.opened import OpenedAdapter
from ...adapter.token import Token
from ...bus.base import Bus, Watched
from ...remote import Access
from .jobs import Job
from .layout import ROOM, SIGNAL, Queue, QueueLayout
from .options import MbcfOptions

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

    def watched(self, peer: int, told: int) -> Watched:
        """Return the word that changes when a peer has emptied the FIFO again."""
        return Watched(self._memory, self.layout.room(peer, Queue.MESSAGES), ROOM.pack(told))

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
