"""The device inside a rank process: what each usual message needs, in fewer calls.

It does what `MpiNp` does, at the same times. Whatever is unusual, it leaves to `MpiNp`: long
messages, memory that is not pinned yet, queues that are not empty, errors.
"""

from collections.abc import Sequence

from lanai_firmware.programs.mpi_np.codec import packer
from lanai_firmware.programs.mpi_np.layout import ANY, NO_TAG, Kind, Op, Request

from ...body import Body, Run
from ...bus.base import BlockingBus, BusError, HostBuffer
from ...config import HostConfig, HostCost
from ...device import SendMode
from ...errors import DeviceLost
from ...operation import ANY_SOURCE, ANY_TAG, ErrorKind, Operation
from ...wait import Wait
from ..health import Examine, examine
from .device import MpiNp
from .driver import Attachment
from .endpoint import DOORBELL, RECORD, REQUEST, SEQUENCE, TAIL, Notice
from .memory import Hold
from .operations import Receive, Send, fail, finish
from .posting import RESERVED

SYNCHRONOUS = SendMode.SYNCHRONOUS
PEER, NO_PIECE, ANYTHING = int(ANY), (0, 0), int(NO_TAG)
_send = packer(Request, "tag", "length", "context", "peer", "command")
_receive = packer(
    Request,
    "pieces.0.address",
    "pieces.0.length",
    "pieces.1.address",
    "pieces.1.length",
    "token",
    "limit",
    "tag",
    "context",
    "peer",
    "command",
)


class RankMpiNp(MpiNp):
    """`MpiNp` of a rank process."""

    def __init__(
        self,
        bus: BlockingBus,
        attachment: Attachment,
        config: HostConfig,
        examiner: Examine = examine,
        copyblock: HostBuffer | None = None,
    ) -> None:
        super().__init__(bus, attachment, config, examiner, copyblock)
        self._bus = bus
        self._sent = Operation(self.rank)  # stands for every send that was done at once
        self._sent.done = True

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        endpoint, size = self.endpoint, body.size
        if (
            size > endpoint.inline_limit
            or mode is SYNCHRONOUS
            or self.sending.queues
            or dest in self.share.lost
            or endpoint.broken is not None
            or not endpoint.room(dest, inline=True)
        ):
            return super().send(dest, tag, context, body, mode)
        try:
            data = body.read()
        except BusError as error:
            failed = Send(self.rank, dest, tag, context, body, mode)
            fail(failed, ErrorKind.BUS_ERROR, str(error))
            return failed
        end = endpoint.take_slot(dest)
        request = _send(tag, size, context, dest, Op.SEND_INLINE << 24 | endpoint.next << 16)
        self._write(end, data + bytes(-size % 4) + request[REQUEST - TAIL :])
        return self._sent

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        hold = self._lent(source, body)
        if hold is None:
            return super().receive(source, tag, context, body)
        share, endpoint = self.share, self.endpoint
        endpoint.heard = self._bus.now
        if self.share.memory.owes:
            share.account()
        receive = Receive(source, tag, context, body)
        receive.hold = hold
        share.place(receive)
        if source == ANY_SOURCE:
            share.wildcards -= 1
        first, second = (*hold.pieces, NO_PIECE, NO_PIECE)[:2]
        end = endpoint.take_slot(-1)
        request = _receive(
            *first,
            *second,
            receive.index,
            body.size,
            ANYTHING if tag == ANY_TAG else tag,
            context,
            PEER if source == ANY_SOURCE else source,
            self.posting.op << 24 | endpoint.next << 16 | receive.number,
        )
        self._write(end, request)
        return receive

    def progress(self) -> None:
        if self.endpoint.broken is not None:
            super().progress()
            return
        news = self.records.news
        try:
            self._look()
            if self.records.news == news:
                self.progressing.look_again(news)
        except DeviceLost:
            self.losing.lose_nic()

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        if operations is None or self.endpoint.broken is not None:
            super().wait(operations, why)
            return
        try:
            while True:
                self._look()
                for operation in operations:
                    if operation.done:
                        return
                if self.records.short_of_slots or self._queued:
                    self.progressing.rest(why)
                else:
                    self._sleep(why)
        except DeviceLost:
            self.losing.lose_nic()

    @property
    def _queued(self) -> bool:
        """Do operations wait here for room on the NIC?"""
        return bool(self.sending.queues or self.host_queues.waiting)

    def _lent(self, source: int, body: Body) -> Hold | None:
        """The memory of a receive that can be put on the NIC at once; None if it cannot be."""
        share, host_queues = self.share, self.host_queues
        if (
            not isinstance(body, Run)
            or host_queues.waiting
            or host_queues.held
            or share.lost
            or self.endpoint.broken is not None
            or share.config.host_matching
            or len(share.entries) <= RESERVED
            or not share.numbers
            or not self.endpoint.free
            or (source == ANY_SOURCE and not share.wildcards)
        ):
            return None
        return share.memory.lend_kept(body)

    def _write(self, end: int, data: bytes) -> None:
        """The rest of `Endpoint.post`, for a slot that ends at this PIO offset."""
        endpoint = self.endpoint
        endpoint.meter.charge(HostCost.POST)
        endpoint.take_semaphore()
        self._pay()
        self._bus.write_then(end - len(data), data, DOORBELL, endpoint.bell)
        endpoint.give_semaphore()

    def _pay(self) -> None:
        """`Meter.pay`."""
        meter = self.endpoint.meter
        if meter.owed:
            self._bus.charge(meter.take())

    def _look(self) -> None:
        """`Progress.look`."""
        endpoint = self.endpoint
        endpoint.meter.charge(HostCost.POLL)
        while (notice := endpoint.look()) is not None:
            if not self._received(notice):
                self.records.handle(notice)
        self._pay()
        if self._queued:
            self.progressing.use_room()

    def _received(self, notice: Notice) -> bool:
        """`Records.handle` of a message that lies where the program wants it; False if this is
        something else."""
        share = self.share
        receive = share.active.get(notice.operation)
        if notice.kind is not Kind.RECEIVED or notice.error or not isinstance(receive, Receive) or receive.done:
            return False
        hold = receive.hold
        if hold is None or hold.bounce is not None or hold.entries:
            return False
        self.records.check(notice, receive)
        self.records.news += 1
        receive.source, receive.tag, receive.length = notice.source, notice.tag, notice.length
        share.displace(receive)
        receive.hold = None
        for pinned in share.memory.keep(hold):
            share.memory.pins.unpin(pinned)
        if share.memory.owes:
            share.account()
        finish(receive)
        return True

    def _sleep(self, why: Wait) -> None:
        """`Records.sleep`."""
        self._pay()
        endpoint = self.endpoint
        buffer, start = endpoint.copyblock, endpoint.place * RECORD + SEQUENCE
        seen = int.from_bytes(buffer.view[start : start + 4], "big")
        if seen >> 16 == endpoint.sequence:
            return
        if self._bus.await_word(buffer, start, seen, why, self.share.config.watchdog) == seen:
            endpoint.examine()
            self.records.hear()
