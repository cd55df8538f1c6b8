"""The device as the MPI library sees it."""

from collections.abc import Callable, Mapping, Sequence

from lanai_firmware.programs.ccu.layout import Count

from ...body import Body
from ...bus.base import Bus, BusError, KnownLook, Watched
from ...config import HostConfig, HostCost
from ...device import Arrived, Choices, Pending, SendMode
from ...host_model.meter import Meter, Receive, fail
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..health import fail_probe
from ..host_matching import HostMatchingDevice, is_over
from .daemon import Attachment, Daemon
from .messages import HEADER, Message, Receiving, Send, Sending

COUNTERS = {
    Count.SENT: "data packets that the node's daemon sent; a broadcast is one",
    Count.RESENT: "data packets that it sent again",
    Count.TIMEOUTS: "packets that no acknowledgement came for in time",
    Count.RECEIVED: "data packets that it took",
    Count.DUPLICATES: "data packets that it had already",
    Count.DAMAGED: "packets with a wrong CRC",
    Count.OVERFLOWS: "data packets that it had no room for",
    Count.ACKS_LOST: "acknowledgements because a packet was missing",
    Count.ACKS_AGAIN: "acknowledgements because a packet came again",
    Count.ACKS_NTH: "acknowledgements because so many packets had come",
    Count.ACKS_TIMER: "acknowledgements because of the acknowledgement timer",
    Count.PRESSURE: "times that a rank's ring was full",
}
COPIED = "ccu_copied"


def never() -> bool:
    """Return False: all packets are taken."""
    return False


class Ccu(HostMatchingDevice[Receive, Message]):
    """Messages in packets through the daemon. Packets move on while the program is outside the
    library, as far as its ring goes; messages meet receives only inside."""

    def __init__(self, bus: Bus, attachment: Attachment, costs: HostConfig) -> None:
        self.rank = attachment.rank
        self.size = len(attachment.places)
        self.node = attachment.places[self.rank].node
        # A scatter whose blocks fit into one packet is a broadcast (CC-23). Others, and gathers,
        # go directly: the root posts its receives in the order of ranks (CC-22, CC-24, CC-25).
        self.choices = Choices(
            multicast=attachment.multicasts,
            multicast_scatter=attachment.packet - HEADER.size,
            tree_gather=-1,
            reduce_by_gather=True,
        )
        self._places = attachment.places
        self._stay = attachment.stay
        meter = Meter(costs, bus.elapse)
        self._daemon = Daemon(bus, attachment, meter)
        self._sending = Sending(self._daemon, self.rank, attachment.packet, attachment.datagram)
        self._receiving = Receiving(meter, self._answer, self._sending.answered)
        super().__init__(bus, meter, self._receiving.matcher, costs.watchdog)
        self._own: dict[int, Send] = {}  # synchronous sends to this rank itself, by serial number
        self._seen = 0  # the daemon's `changes` at the last look
        self._open()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        synchronous = mode is SendMode.SYNCHRONOUS
        if dest == self.rank and self._failure is None:
            return self._send_to_self(tag, context, body, synchronous)
        return self._send((dest,), tag, context, body, synchronous)

    def multicast(self, dests: Sequence[int], tag: int, context: int, body: Body) -> Operation | None:
        return self._send(tuple(dests), tag, context, body, False)

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        receive = Receive(source, tag, context, body)
        if not self._refused(receive):
            self._receiving.receive(receive)
            self._sending.push()
        return receive

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        assert isinstance(arrived.handle, Message)
        receive = Receive(arrived.source, arrived.tag, arrived.context, body)
        self._receiving.take_kept(arrived.handle, receive)
        self._sending.push()
        return receive

    def counters(self) -> Mapping[str, str]:
        copied = {COPIED: "bytes of this rank's messages that went through its local buffer"}
        return {f"ccu_{which.name.lower()}": text for which, text in COUNTERS.items()} | copied

    def read_counter(self, name: str) -> int:
        if name == COPIED:
            return self._receiving.copied
        return self._daemon.count(Count[name.removeprefix("ccu_").upper()])

    def _forget(self, receive: Receive) -> None:
        self._receiving.forget(receive)

    def _pending_sends(self) -> list[Pending]:
        return [*(one for send in self._own.values() for one in send.pending()), *self._sending.pending()]

    def _send(self, ranks: tuple[int, ...], tag: int, context: int, body: Body, synchronous: bool) -> Operation:
        failed = Operation(self.rank, tag)
        if self._refused(failed):
            return failed
        send = self._sending.queue(ranks, tag, context, body, synchronous=synchronous)
        self._sending.push()
        why = Wait("MPI_Isend", ranks[0], tag, note="room in the send queue")
        while self._failure is None and self._sending.writes(send):  # all of it is copied to the send buffer (CC-17)
            self._sleep(why)
            self._look()
        return send

    def _send_to_self(self, tag: int, context: int, body: Body, synchronous: bool) -> Operation:
        """A match on this host: the daemon has nothing to do with it."""
        serial = self._sending.next_serial() if synchronous else 0
        send = Send(self.rank, (self.rank,), tag, context, body, b"", serial)
        try:
            data = body.read()
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
            return send
        send.done = not synchronous
        if synchronous:
            self._own[serial] = send
        self._receiving.accept(Message(self.rank, tag, context, len(data), serial), data)
        return send

    def _answer(self, rank: int, serial: int) -> None:
        """A receive has taken a synchronous message."""
        if rank == self.rank:
            self._own.pop(serial).done = True
        else:
            self._sending.answer(rank, serial)

    def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        if operations is None or is_over(operations, False) or not self._settled:
            self._bus.catch_up()
        else:
            self._sleep(why, first=True)

        def enough() -> bool:
            return bool(self._stay) and operations is not None and is_over(operations, False)

        while True:
            before = self._news
            self._look(enough)
            if self._failure is not None or is_over(operations, self._news != before):
                return
            self._sleep(why)

    @property
    def _settled(self) -> bool:
        """A poll does nothing unless one of `Daemon.decisive` has changed."""
        return (
            self._failure is None
            and self._sending.is_settled
            and self._daemon.is_settled
            and not (self._meter.owed or self._meter.sink)
        )

    def _sleep(self, why: Wait, first: bool = False) -> None:
        """Until something has changed. `first`: catch up and poll before, which does nothing unless something has."""
        watched = [self._changes(self._seen)]
        if self._settled:
            price = self._meter.costs.price(HostCost.POLL)
            self._poll_and_sleep(watched, KnownLook(price, first=first, decisive=self._daemon.decisive()), why)
        else:
            self._sleep_on(watched, why)

    @property
    def _news(self) -> tuple[int, int]:
        """Differs whenever a look found something."""
        return self._seen, self._daemon.read if self._stay else 0

    @property
    def _found(self) -> tuple[int, int]:
        return self._news

    def _look(self, enough: Callable[[], bool] = never) -> None:
        """Take what has arrived, and send what waits. Packets that come when there is `enough` stay in the ring until
        a receive wants them, so that they are not copied (CC-18, option `stay`)."""
        self._seen = self._daemon.changes
        self._meter.spend(HostCost.POLL)
        if self._daemon.silent and self._failure is None:
            self._hear_lost()  # a NIC that is lost makes others wait
        if self._daemon.silent and self._failure is None:
            lost = [rank for rank, place in enumerate(self._places) if self._daemon.silent >> place.node & 1]
            self._fail(f"no acknowledgement from the node of rank {', '.join(map(str, lost))}")
        if self._failure is not None:
            return
        for arrival in self._daemon.arrivals(enough):
            self._receiving.take(arrival)
        self._daemon.tell_read()
        self._sending.push()

    def _changes(self, seen: int) -> Watched:
        return Watched(self._daemon.memory, self._daemon.changes_at, seen.to_bytes(4, "big"))

    def _lose(self, rank: int, text: str) -> None:
        self._fail(f"rank {rank} has gone: {text}")

    def _lose_nic(self, text: str) -> None:
        self._fail(text, ErrorKind.NIC_LOST)

    def _fail(self, text: str, kind: ErrorKind = ErrorKind.RANK_LOST) -> None:
        """A rank or a node does not answer, or the NIC was lost. What is under way ends with an error, and so does what
        begins."""
        self._failure = DeviceError(kind, text)
        self.impaired = True
        for send in self._own.values():
            fail(send, kind, text)
        self._sending.fail_all(text, kind)
        self._receiving.fail_all(text, kind)

    def _open(self) -> None:
        """Returns once the daemon has answered. Raises DeviceLost if it never will."""
        self._daemon.open()
        why = Wait("MPI_Init", note="the daemon answers")
        while not self._daemon.changes:
            if self._failure is not None:
                fail_probe(self._failure)
            self._sleep_on([self._changes(0)], why)

    def _finish(self) -> None:
        why = Wait("MPI_Finalize", note="the daemon takes the last packets")
        while self._failure is None and not self._sending.is_idle:
            seen = self._daemon.changes
            self._look()
            if not self._sending.is_idle and self._daemon.changes == seen:
                self._sleep_on([self._changes(seen)], why)
        if self._failure is None or self._failure.kind is not ErrorKind.NIC_LOST:
            self._daemon.close(self._nic_watch())
