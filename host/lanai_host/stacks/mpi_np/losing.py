"""The loss of peers that do not answer and of this rank's own NIC, and the operations that fail with them."""

from collections.abc import Callable

from ...operation import ANY_SOURCE, ErrorKind, Operation
from ..lost_ranks import reasons
from .host_queues import HostQueues
from .operations import Receive, Send, fail
from .sending import Sending
from .share import NicShare


class Losing:
    """Ends what would wait for ever."""

    def __init__(self, share: NicShare, sending: Sending, host_queues: HostQueues) -> None:
        self.share = share
        self.sending = sending
        self.host_queues = host_queues
        self._told: set[int] = set()  # of whose loss the receives from anyone have been told

    def lose(self, rank: int) -> None:
        """The NIC reports that a rank does not answer. It has failed the receives that it had, and
        forgotten all else of that rank: sends, and what waits on the host, are failed here."""
        share = self.share
        text = share.lost.setdefault(rank, f"rank {rank} does not answer")
        for number, operation in list(share.active.items()):
            if isinstance(operation, Send) and operation.dest == rank:
                share.retire_send(number, operation)
                if not operation.done:
                    fail(operation, ErrorKind.PEER_FAILED, text)
        self._fail_queued(rank, text)

    @property
    def all_lost(self) -> bool:
        """No rank is left but this one."""
        return len(self.share.lost.keys() - {self.share.rank}) == self.share.size - 1

    def hear(self, recall: Callable[[Receive], bool]) -> bool:
        """Ask the simulator for ranks that can be reached no more, of which the NIC knows
        nothing. True if anything ended, or one was not known. Receives from anyone are told of each loss once: one
        that is posted later may take a message of those that are there, if some are."""
        lost = reasons(self.share.bus.lost())
        self._told &= lost.keys()
        ended = False
        for rank, text in lost.items():
            ended |= rank not in self.share.lost
            self.share.lost.setdefault(rank, text)
            tell = rank not in self._told or self.all_lost
            self._told.add(rank)
            self._fail_queued(rank, text, tell)
            for operation in [o for o in self.share.active.values() if not o.done and concerns(o, rank, tell)]:
                # What has met no message the NIC gives up. What it still holds after that stays
                # lent until it says otherwise.
                recalled = isinstance(operation, Receive) and recall(operation)
                anyone = isinstance(operation, Receive) and operation.wanted_source == ANY_SOURCE
                if not operation.done and (recalled or not anyone):
                    fail(operation, ErrorKind.PEER_FAILED, text)
                    ended = True
        return ended

    def _fail_queued(self, rank: int, text: str, anyone: bool = True) -> None:
        for send in self.sending.queues.pop(rank, ()):
            self._take_back(send)
            fail(send, ErrorKind.PEER_FAILED, text)
        self.fail_waiting(rank, anyone)

    def fail_waiting(self, rank: int, anyone: bool) -> None:
        """End the receives that wait here for a lost rank, and for `anyone`. Some have been lent memory already."""
        sources = (rank, ANY_SOURCE) if anyone else (rank,)
        for receive in [r for r in self.host_queues.begun if r.wanted_source in sources]:
            self.host_queues.withdraw(receive)
            self._take_back(receive)
            fail(receive, ErrorKind.PEER_FAILED, self.share.lost[rank])

    def lose_nic(self, operation: Operation | None = None) -> None:
        """This rank's NIC is lost: all that was under way ends, `operation` too, and the job's
        manager is told."""
        text = self.share.broken
        assert text is not None
        queued = [send for queue in self.sending.queues.values() for send in queue]
        held = [*self.share.active.values(), *queued, *self.host_queues.begun]
        self.share.active.clear()
        self.sending.queues.clear()
        for receive in list(self.host_queues.begun):
            self.host_queues.withdraw(receive)
        for ended in held if operation is None else [*held, operation]:
            if isinstance(ended, Send | Receive) and self.share.endpoint.stopped:
                self._take_back(ended)
            if not ended.done:
                fail(ended, ErrorKind.NIC_LOST, text)
        if self.share.rank not in self.share.lost:
            self.share.lost[self.share.rank] = text
            self.share.bus.report_lost(self.share.rank, text)

    def _take_back(self, operation: Send | Receive) -> None:
        if operation.hold is not None:
            hold, operation.hold = operation.hold, None
            self.share.memory.take_back(hold, 0)


def concerns(operation: Operation, rank: int, anyone: bool) -> bool:
    """Return whether the loss of `rank` ends the operation; those for `anyone` too, if asked."""
    if isinstance(operation, Send):
        return operation.dest == rank
    sources = (rank, ANY_SOURCE) if anyone else (rank,)
    return isinstance(operation, Receive) and operation.wanted_source in sources
