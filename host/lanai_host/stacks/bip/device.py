"""The device as the MPI library sees it. Ready sends are standard sends. Collectives are those of the library."""

from collections.abc import Sequence

from lanai_firmware.programs.bip.layout import Type

from ...body import Body
from ...bus.base import Bus, KnownLook
from ...config import HostConfig, HostCost
from ...device import Pending, SendMode
from ...host_model.meter import Meter, read_all
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..host_matching import NoRecovery, is_over
from ..pinning import Pins
from .attachment import HEADER, Attachment, Head
from .link import Link, Outbox
from .messages import Message, Receiving, Send, Sending


class Bip(NoRecovery[Message]):
    """Messages by a thin firmware. What the NIC has been given moves on while the program is outside the
    library; nothing meets a receive there, and no credit is given back."""

    def __init__(self, bus: Bus, attachment: Attachment, costs: HostConfig) -> None:
        self.rank = attachment.rank
        self.size = attachment.ranks
        options = attachment.options
        meter = Meter(costs, bus.elapse)
        self._link = Link(bus, attachment.border, self.size, meter)
        self._outbox = Outbox(self._link, self.rank, self.size, options.credits)
        self._pins = Pins(bus, costs)
        self._sending = Sending(meter, self._link, self._outbox, self._pins, options, self.size)
        self._receiving = Receiving(meter, self._link, self._outbox, self._pins, self.size)
        super().__init__(bus, meter, self._receiving, costs.watchdog)
        self._news = 0  # packets read, and operations that ended
        self._seen = 0  # those of the last look
        self._next = 0  # the channel whose ring is looked at first
        self._link.open()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        send = Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS)
        if self._refused(send):
            return send
        if dest == self.rank:
            self._send_to_self(send)
        else:
            self._sending.queue(send)
            self._push()
        return send

    def _pending_sends(self) -> list[Pending]:
        return [Pending(True, one.dest, one.tag, one.context, one.length) for one in self._sending.pending()]

    def _send_to_self(self, send: Send) -> None:
        """A match on this host."""
        data = read_all(send)
        if data is not None:
            own = send if send.synchronous else None
            self._receiving.arrive(Message(self.rank, send.tag, send.context, len(data), data, own_send=own))
            self._push()

    def _push(self) -> None:
        self._outbox.push()
        self._pins.pay(self._meter)

    def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        if operations is None or is_over(operations, False) or not self._settled:
            self._bus.catch_up()
        else:
            self._sleep(why, first=True)
        before = self._news
        while True:
            self._look()
            if self._failure is not None or is_over(operations, self._news != before):
                return
            self._sleep(why)

    @property
    def _settled(self) -> bool:
        """A poll does nothing unless one of `Link.decisive` has changed."""
        return (
            self._failure is None
            and self._outbox.is_settled
            and self._news == self._seen
            and not (self._meter.owed or self._meter.sink or any(receive.done for receive in self._receives))
        )

    def _sleep(self, why: Wait, first: bool = False) -> None:
        """Until there is news. `first`: it is `_settled`. Catch up and poll before, which does nothing unless there is
        news.
        """
        watched = self._link.watched()
        if not (first or self._settled):
            self._sleep_on(watched, why)
            return
        price = self._meter.costs.price(HostCost.POLL, self.size)
        slept = self._poll_and_sleep(watched, KnownLook(price, first=first, decisive=self._link.decisive()), why)
        if slept is not None:
            self._next = (self._next + slept.polls) % self.size

    def _look(self) -> None:
        """Once over the rings of all peers, and the words of the NIC."""
        self._link.look()
        if self._failure is None and self._link.faults:
            self._hear_lost()  # a NIC that is lost ends its packets
        if self._failure is None and self._link.faults:
            self._give_up(
                ErrorKind.NIC_LOST,
                f"the NIC of rank {self.rank} met {self._link.faults} packets or accesses that failed; bip has no "
                "recovery",
            )
        if self._failure is not None:
            return
        self._meter.spend(HostCost.POLL, self.size)  # a ring for each peer, and the words of the NIC
        for source in self._link.arrivals(self._next):
            self._read_ring(source)
        self._next = (self._next + 1) % self.size
        self._receiving.advance()
        self._sending.advance()
        self._push()
        done = {receive for receive in self._receives if receive.done}
        self._receives -= done
        self._news += len(done)
        if self._news != self._seen:
            self._seen = self._news

    def _read_ring(self, source: int) -> None:
        while (data := self._link.arrived(source)) is not None:
            head = Head(*HEADER.unpack_from(data))
            self._news += 1
            self._meter.spend(HostCost.COMPLETE)
            self._outbox.read(source, head.credit)
            self._deal(source, head, data[HEADER.size :])
            if head.type != Type.CREDIT:
                self._outbox.owe(source)

    def _deal(self, source: int, head: Head, data: bytes) -> None:
        if head.type == Type.GRANT:
            self._sending.grant(head.handle, head.length, bool(head.sequence))
        elif head.type == Type.TAKEN:
            self._sending.taken(head.handle)
        elif head.type != Type.CREDIT:
            self._receiving.take_packet(source, head, data)

    @property
    def _found(self) -> int:
        return self._news

    def _check_lost(self) -> None:
        """The NIC is checked first."""
        if self._failure is None:
            self._check_nic()
        if self._failure is None:
            super()._check_lost()
            self._silent = None

    def _lose_nic(self, text: str) -> None:
        self._fail(ErrorKind.NIC_LOST, text)

    def _lose(self, rank: int, text: str) -> None:
        self._give_up(ErrorKind.RANK_LOST, f"rank {rank} has gone: {text}")

    def _give_up(self, kind: ErrorKind, text: str) -> None:
        """End everything. The NIC lets go of this process's memory before, because packets may still come to buffers
        that the program gets back now."""
        self._link.close(self._nic_watch())
        if self._failure is None:
            self._fail(kind, text)

    def _fail(self, kind: ErrorKind, text: str) -> None:
        """Nothing can be trusted any more: what is under way ends with an error, and so does what begins."""
        self._failure = DeviceError(kind, text)
        self.impaired = True
        self._outbox.clear()
        self._sending.fail_all(kind, text)
        self._receiving.fail_all(list(self._receives), kind, text)
        self._receives.clear()

    def _finish(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        self._look()
        while self._failure is None and not (self._sending.is_idle and self._outbox.is_idle):
            self._sleep_on(self._link.watched(), why)
            self._look()
        if self._failure is None:
            self._link.close(self._nic_watch())
        self._pins.close()
