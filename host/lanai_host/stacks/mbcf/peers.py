"""The peers of a rank: which of them it has met, and its queues with each of them."""

from collections.abc import Callable, Iterable

from lanai_hdl.remote.packets import Status

from ...bus.base import Bus
from ...wait import Wait
from .jobs import Jobs
from .layout import Queue
from .outbox import Outbox
from .queues import Queues
from .receiving import Inbox, Receiving
from .requesting import Requesting, Source
from .sending import Sending
from .stream import Stream

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
