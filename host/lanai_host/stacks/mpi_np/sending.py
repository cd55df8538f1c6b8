"""Sends onto the NIC, in order for each destination: short bodies written by the processor (NP-41,
NP-43), others described (NP-44)."""

from collections import deque
from collections.abc import Callable

from lanai_firmware.programs.mpi_np.layout import Op

from ...bus.base import BusError
from ...device import SendMode
from ...operation import ANY_SOURCE, ErrorKind, Operation
from ..health import reasons
from .operations import HostQueues, Receive, Send, fail, finish
from .share import NicShare, inline

MOST_SENDS = 4096  # long sends on the NIC at once: each will need a record


class Sending:
    """Sends that the NIC has no room for wait in `queues`, by destination."""

    def __init__(self, share: NicShare) -> None:
        self.share = share
        self.queues: dict[int, deque[Send]] = {}

    def begin(self, send: Send) -> None:
        queue = self.queues.get(send.dest)
        most = self.share.memory.most
        if send.size > most:
            fail(
                send,
                ErrorKind.BAD_REQUEST,
                f"{send.size} bytes are more than the {most} of one message; send them in parts",
            )
        elif send.dest in self.share.lost:
            fail(send, ErrorKind.PEER_FAILED, self.share.lost[send.dest])
        elif queue or not self._place(send):
            self.queues.setdefault(send.dest, deque()).append(send)

    def flush(self) -> None:
        """Put waiting sends on the NIC, in order for each destination."""
        for dest in list(self.queues):
            queue = self.queues[dest]
            while queue and self._place(queue[0]):
                queue.popleft()
            if not queue:
                del self.queues[dest]

    def withdraw(self, send: Send) -> bool:
        """Take a send back that still waits here. False if it is on the NIC."""
        queue = self.queues.get(send.dest)
        if not queue or send not in queue:
            return False
        queue.remove(send)
        if send.hold is not None:
            self.share.memory.take_back(send.hold, 0)
        return True

    def _place(self, send: Send) -> bool:
        """Put a send on the NIC. False if there is no room."""
        endpoint = self.share.endpoint
        short = send.size <= endpoint.inline_limit
        alone = short and send.mode is not SendMode.SYNCHRONOUS and send.hold is None
        if not alone or not endpoint.can_post(send.dest, inline=True):
            return self._place_long(send, short)
        try:
            body = send.body.read()
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
            return True
        endpoint.post(Op.SEND_INLINE, 0, self._envelope(send), send.dest, body)
        finish(send)
        return True

    def _place_long(self, send: Send, short: bool) -> bool:
        share = self.share
        if share.long_sends >= MOST_SENDS or not share.numbers or not share.endpoint.can_post(send.dest):
            return False
        if send.hold is None:
            if not share.memory.fits(send.body, True):
                return False
            try:
                send.hold = share.memory.lend(send.body, True, bounce=short)
            except BusError as error:
                fail(send, ErrorKind.BUS_ERROR, str(error))
                return True
            share.account()
        hold = send.hold
        if share.table.needed(len(hold.pieces)) >= len(share.table.free):
            return False
        number = share.numbers.popleft()
        hold.entries = share.table.write(hold.pieces, send.size, number, send.dest)
        share.active[number] = send
        share.long_sends += 1
        op = Op.SEND_SYNC if send.mode is SendMode.SYNCHRONOUS else Op.SEND
        fields = {**self._envelope(send), "table": hold.entries[0], **inline(hold)}
        share.endpoint.post(op, number, fields, send.dest)
        return True

    @staticmethod
    def _envelope(send: Send) -> dict[str, int]:
        return {"tag": send.tag, "length": send.size, "context": send.context, "peer": send.dest}


# The loss of peers that do not answer and of this rank's own NIC, and the operations that fail with them.


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
