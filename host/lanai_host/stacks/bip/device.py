"""The device as the MPI library sees it. Ready sends are standard sends. Collectives are those of the library."""

from collections.abc import Iterable, Sequence

from lanai_firmware.programs.bip.layout import Type

from ...body import Body
from ...bus.base import Bus, KnownPoll, Slept, Watched
from ...config import HostConfig, HostCost
from ...device import SendMode
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..no_recovery import NoRecovery
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
        self._next = 0  # the channel whose ring is looked at first
        self._link.open()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        send = Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS)
        return self._start(send, self._queue, self._to_self)

    def _queue(self, send: Send) -> None:
        self._sending.queue(send)
        self._push()

    def _to_self(self, send: Send, data: bytes) -> None:
        """A match on this host."""
        own = send if send.synchronous else None
        self._receiving.arrive(Message(self.rank, send.tag, send.context, len(data), data, own_send=own))
        self._push()

    def _sends(self) -> Iterable[Send]:
        return self._sending.pending()

    def _push(self) -> None:
        self._outbox.push()
        self._pins.pay(self._meter)

    @property
    def _settled(self) -> bool:
        """A poll does nothing unless one of `Link.decisive` has changed."""
        return (
            self._failure is None
            and self._outbox.is_settled
            and not (self._meter.owed or self._meter.sink or any(receive.done for receive in self._receives))
        )

    def _watched(self) -> list[Watched]:
        return self._link.watched()

    def _known_poll(self, watched: Sequence[Watched], first: bool) -> KnownPoll | None:
        price = self._meter.costs.price(HostCost.POLL, self.size)
        return KnownPoll(price, first=first, decisive=self._link.decisive())

    def _after(self, slept: Slept) -> None:
        self._next = (self._next + slept.polls) % self.size

    def _look(self) -> None:
        """Once over the rings of all peers, and the words of the NIC."""
        self._link.look()
        if self._fails(self._met()):
            return
        self._meter.spend(HostCost.POLL, self.size)  # a ring for each peer, and the words of the NIC
        for source in self._link.arrivals(self._next):
            self._read_ring(source)
        self._next = (self._next + 1) % self.size
        self._receiving.advance()
        self._sending.advance()
        self._push()
        self._news += self._forget_done()

    def _met(self) -> DeviceError | None:
        """The failure of the NIC, if it counts packets or accesses that failed."""
        if not self._link.faults:
            return None
        met = f"{self._link.faults} packets or accesses that failed"
        return DeviceError(ErrorKind.NIC_LOST, f"the NIC of rank {self.rank} met {met}; bip has no recovery")

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

    def _let_go(self) -> None:
        self._link.close(self._nic_watch())

    def _drop(self, kind: ErrorKind, text: str) -> None:
        self._outbox.clear()
        self._sending.fail_all(kind, text)
        self._receiving.clear()

    def close(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        self._until(lambda: self._sending.is_idle and self._outbox.is_idle, why)
        if self._failure is None:
            self._let_go()
        self._pins.close()
