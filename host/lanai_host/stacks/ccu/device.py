"""The device as the MPI library sees it."""

from collections.abc import Mapping, Sequence

from lanai_firmware.programs.ccu.layout import Count

from ...body import Body
from ...bus.base import Bus, KnownPoll, Watched
from ...config import HostConfig, HostCost
from ...device import Choices, Pending, SendMode
from ...host_model import meter as operations
from ...host_model.meter import Meter
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..health import fail_probe
from ..no_recovery import NoRecovery
from .daemon import Attachment, Daemon
from .messages import HEADER, Message, Receiving, Sending

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


class Ccu(NoRecovery[Message]):
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
        self._receiving = Receiving(meter, self._sending.answer, self._sending.answered)
        super().__init__(bus, meter, self._receiving, costs.watchdog)
        self._looked = 0  # the daemon's `changes` at the last look
        self._open()

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        synchronous = mode is SendMode.SYNCHRONOUS
        if dest != self.rank:
            return self._send((dest,), tag, context, body, synchronous)
        own = operations.Send(self.rank, dest, tag, context, body, synchronous)
        return self._start_own(own, self._to_self)

    def multicast(self, dests: Sequence[int], tag: int, context: int, body: Body) -> Operation | None:
        return self._send(tuple(dests), tag, context, body, False)

    def counters(self) -> Mapping[str, str]:
        copied = {COPIED: "bytes of this rank's messages that went through its local buffer"}
        return {f"ccu_{which.name.lower()}": text for which, text in COUNTERS.items()} | copied

    def read_counter(self, name: str) -> int:
        if name == COPIED:
            return self._receiving.copied
        return self._daemon.count(Count[name.removeprefix("ccu_").upper()])

    def _pending_sends(self) -> list[Pending]:
        return self._sending.pending()

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

    def _to_self(self, send: operations.Send, data: bytes) -> None:
        """A match on this host: the daemon has nothing to do with it."""
        own = send if send.synchronous else None
        self._receiving.accept(Message(self.rank, send.tag, send.context, len(data), own_send=own), data)

    def _push(self) -> None:
        self._sending.push()

    @property
    def _settled(self) -> bool:
        """A poll does nothing unless one of `Daemon.decisive` has changed."""
        return (
            self._failure is None
            and self._sending.is_settled
            and self._daemon.is_settled
            and not (self._meter.owed or self._meter.sink)
        )

    def _watched(self) -> list[Watched]:
        return [self._changes(self._looked)]

    def _known_poll(self, watched: Sequence[Watched], first: bool) -> KnownPoll:
        price = self._meter.costs.price(HostCost.POLL)
        return KnownPoll(price, first=first, decisive=self._daemon.decisive())

    @property
    def _found(self) -> tuple[int, int]:
        return self._looked, self._daemon.read if self._stay else 0

    def _look(self) -> None:
        """Take what has arrived, and send what waits. Packets that come when there is enough stay in the ring until
        a receive wants them, so that they are not copied (CC-18, option `stay`)."""
        self._looked = self._daemon.changes
        self._meter.spend(HostCost.POLL)
        if self._fails(self._silence()):
            return
        for arrival in self._daemon.arrivals(self._enough if self._stay else never):
            self._receiving.take_packet(arrival)
        self._daemon.tell_read()
        self._sending.push()
        self._forget_done()

    def _silence(self) -> DeviceError | None:
        """The failure that the daemon reports: nodes that do not answer."""
        silent = self._daemon.silent
        if not silent:
            return None
        lost = [str(rank) for rank, place in enumerate(self._places) if silent >> place.node & 1]
        return DeviceError(ErrorKind.RANK_LOST, f"no acknowledgement from the node of rank {', '.join(lost)}")

    def _changes(self, seen: int) -> Watched:
        return Watched(self._daemon.memory, self._daemon.changes_at, seen.to_bytes(4, "big"))

    def _drop(self, kind: ErrorKind, text: str) -> None:
        self._sending.fail_all(text, kind)

    def _open(self) -> None:
        """Returns once the daemon has answered. Raises DeviceLost if it never will."""
        self._daemon.open()
        why = Wait("MPI_Init", note="the daemon answers")
        while not self._daemon.changes:
            if self._failure is not None:
                fail_probe(self._failure)
            self._sleep_on([self._changes(0)], why)

    def close(self) -> None:
        why = Wait("MPI_Finalize", note="the daemon takes the last packets")
        while self._failure is None and not self._sending.is_idle:
            seen = self._daemon.changes
            self._look()
            if not self._sending.is_idle and self._daemon.changes == seen:
                self._sleep_on([self._changes(seen)], why)
        if self._failure is None or self._failure.kind is not ErrorKind.NIC_LOST:
            self._daemon.close(self._nic_watch())
