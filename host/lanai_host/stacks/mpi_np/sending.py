"""Sends onto the NIC, in order for each destination: short bodies written by the processor (NP-41,
NP-43), others described (NP-44)."""

from collections import deque

from lanai_firmware.programs.mpi_np.layout import Op

from ...bus.base import BusError
from ...device import SendMode
from ...operation import ErrorKind
from .operations import Send, fail, finish
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
