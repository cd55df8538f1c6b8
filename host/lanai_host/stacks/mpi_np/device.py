"""The device as the MPI library sees it."""

import json
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from lanai_firmware.programs.mpi_np.layout import ANY
from lanai_hdl.machine import COUNTERS, host_offset

from ...body import Body
from ...bus.base import Bus, HostBuffer
from ...config import HostConfig, HostCost
from ...device import Arrived, ChargeSink, Device, Envelope, Pending, SendMode
from ...errors import DeviceLost
from ...operation import ANY_SOURCE, ANY_TAG, Operation, Wait
from ...plain import restored
from ..health import check_probe
from .driver import Attachment
from .endpoint import Endpoint
from .operations import HeldMessage, HostQueues, Receive, Send, described
from .receiving import Posting, Receiving, Taking
from .records import Cancelling, Records
from .sending import Losing, Sending
from .share import NicShare

# One process follows another in a rank's place on its NIC: what the second must know, since the NIC goes on where
# it was.
#
# The NIC knows of no process. It takes requests from a chain of slots and writes records with numbers that go up by
# one. So a process that leaves hands over where both stand. What lies in the copyblock by then is the second one's
# too: the trusted side carries it over.


@dataclass(frozen=True)
class Handover:
    """The state of an endpoint as it is handed over. Plain numbers, as JSON between the processes.

    Attributes:
        next: the slot that the NIC looks at for the next request.
        free: other slots for requests.
        used: those that the NIC has not given back, as far as is known.
        owners: of each of these, the rank that it sends to, or -1.
        freed: `Region.freed` as last read.
        place, sequence: of the next record.
    """

    next: int
    free: tuple[int, ...]
    used: tuple[int, ...]
    owners: tuple[int, ...]
    freed: int
    place: int
    sequence: int


def is_clean(share: NicShare, host_queues: HostQueues) -> bool:
    """Is nothing left on the NIC that a second process would be given? All messages have been taken
    off it. A rank that was lost may be heard of again."""
    busy = share.active or share.lost or share.broken is not None
    return not (busy or host_queues.held or host_queues.waiting)


def written(endpoint: Endpoint) -> bytes:
    """Return the state of an endpoint as JSON."""
    free, used, owners = tuple(endpoint.free), tuple(endpoint.used), tuple(endpoint.used.values())
    found = Handover(endpoint.next, free, used, owners, endpoint.freed, endpoint.place, endpoint.sequence)
    return json.dumps(asdict(found)).encode()


def take_over(endpoint: Endpoint, text: str) -> None:
    """Go on where the process before stood."""
    found = restored(Handover, json.loads(text))
    endpoint.next, endpoint.free = found.next, deque(found.free)
    endpoint.used = dict(zip(found.used, found.owners, strict=True))
    endpoint.held = dict(Counter(owner for owner in found.owners if owner >= 0))
    endpoint.freed, endpoint.place, endpoint.sequence = found.freed, found.place, found.sequence


# Looking at what the NIC has written, and sleeping until it writes something (NP-49).


DONE = attrgetter("done")


class Progress:
    """Keeps everything moving."""

    def __init__(
        self, share: NicShare, records: Records, sending: Sending, receiving: Receiving, taking: Taking
    ) -> None:
        self.share = share
        self.records = records
        self.sending = sending
        self.receiving = receiving
        self.taking = taking

    def look(self) -> None:
        """Look at what the NIC has written, and use the room that this may have made."""
        self.share.meter.charge(HostCost.POLL)
        records, look = self.records, self.share.endpoint.look
        while (notice := look()) is not None:
            records.handle(notice)
        self.share.meter.pay()
        if self.receiving.host_queues.waiting or self.sending.queues:
            self.use_room()

    def use_room(self) -> None:
        """Put on the NIC what waits here and has room there now."""
        if self.receiving.host_queues.waiting:
            self.receiving.sort()
        if self.sending.queues:
            self.sending.flush()

    def look_once(self) -> None:
        """A look that lets time pass, so that a program which only tests sees the world move."""
        news = self.records.news
        self.look()
        if self.records.news != news:
            return
        self.share.bus.catch_up()
        self.look()
        if self.records.news == news and not self.taking.take_off_nic() and self.share.endpoint.silent:
            self.share.endpoint.examine()
            self.records.hear()

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        """`Device.wait`."""
        while True:
            self.look()
            if operations is None:
                if self.records.news != self.records.seen:
                    self.records.seen = self.records.news
                    return
            elif any(map(DONE, operations)):
                return
            self.rest(why)

    def rest(self, why: Wait) -> None:
        """Nothing is done yet: make room on the NIC, or sleep until it writes a record. If operations wait for a
        request slot, ask for a record when one is free, and look once more whether they go on: one that is done now
        may be the one that the caller waits for."""
        if self.taking.take_off_nic():
            return
        waiting = self._waiting
        if waiting:
            self.share.endpoint.alarm()
            self.use_room()
            if self._waiting != waiting:
                return
        self.records.sleep(why)

    def empty(self) -> None:
        """Put what is left of the sends on the NIC."""
        queues = self.sending.queues
        while queues:
            self.look()
            if queues:
                self.rest(Wait("sending what is left before the end"))

    @property
    def _waiting(self) -> int:
        """Operations that wait here for room on the NIC."""
        return self.receiving.host_queues.waiting + sum(map(len, self.sending.queues.values()))


class MpiNp(Device):
    """Messages through the MCP.

    `hands_over`: another process may follow in this one's place, so `close` takes the messages that
    no receive wanted off the NIC, and tells in `handover` where the NIC stands.
    """

    hands_over = False

    def __init__(
        self,
        bus: Bus,
        attachment: Attachment,
        config: HostConfig,
        copyblock: HostBuffer | None = None,
    ) -> None:
        self.bus = bus
        self.rank = attachment.rank
        self.size = attachment.ranks
        self.share = share = NicShare(bus, attachment, config, copyblock)
        self.endpoint = share.endpoint
        self.host_queues = host_queues = HostQueues(share.meter)
        self.sending = Sending(share)
        self.losing = losing = Losing(share, self.sending, host_queues)
        self.records = records = Records(share, losing, pressure=attachment.messages // 2)
        self.posting = Posting(share, records)
        self.taking = Taking(share, records, host_queues, self.posting)
        self.receiving = Receiving(share, records, host_queues, self.posting, self.taking, losing)
        self.cancelling = Cancelling(share, records, self.sending, host_queues)
        self.progressing = Progress(share, records, self.sending, self.receiving, self.taking)
        self.closed = False
        self._told: set[int] = set()  # lost ranks of which a probe for any source has told

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        operation = Send(self.rank, dest, tag, context, body, mode)
        self._try(operation, self.sending.begin, operation)
        return operation

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        operation = Receive(source, tag, context, body)
        self._try(operation, self.receiving.begin, operation)
        return operation

    def reopen(self, attachment: Attachment) -> "MpiNp":
        """A device for the same process on its NIC booted again. This one is of no use then."""
        self.bus.report_lost(self.rank, "")
        endpoint = self.endpoint
        return type(self)(self.bus, attachment, endpoint.config, endpoint.copyblock)

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        try:
            self.progressing.look()
            found = self.taking.probe(source, tag, context, take)
        except DeviceLost:
            self.losing.lose_nic()
            raise
        if found is None:
            check_probe(source, self.share.lost, self._told)
        return found

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        operation = Receive(arrived.source, arrived.tag, arrived.context, body)
        held_message = arrived.handle
        if not isinstance(held_message, HeldMessage):
            raise ValueError(f"{arrived!r} was not taken by this device's probe")
        self._try(operation, self.posting.open, held_message, operation)
        return operation

    def cancel(self, operation: Operation) -> bool:
        self._try(None, self.cancelling.cancel, operation)
        return operation.cancelled

    def progress(self) -> None:
        self._try(None, self.progressing.look_once)

    def wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        self._try(None, self.progressing.wait, operations, why)

    @property
    def placement(self) -> int:  # type: ignore[override]  # of others it does not change
        return self.share.memory.placement

    @property
    def impaired(self) -> bool:  # type: ignore[override]  # the others never are
        return bool(self.share.lost)

    def now(self) -> int:
        return self.bus.now + self.share.meter.owed

    def price(self, what: HostCost) -> int:
        return self.endpoint.config.price(what)

    def charge(self, what: HostCost, count: int = 1) -> None:
        self.share.meter.charge(what, count)

    def report_charges(self, sink: ChargeSink) -> None:
        self.share.meter.sink = sink

    def counters(self) -> Mapping[str, str]:
        return {counter.name: counter.counts for counter in COUNTERS}

    def read_counter(self, name: str) -> int:
        self.share.meter.pay()
        return self.bus.read(host_offset(name))

    def unexpected(self) -> list[Envelope]:
        return self.host_queues.unexpected()

    def unmatched(self, context: int) -> int:
        held = super().unmatched(context)
        if any(one.context == context and not one.sends for one in self.pending()):
            return held  # a receive under way may take what is on the NIC
        on_nic = sum(found == context for _, _, found, _ in self.bus.unreceived())
        if on_nic and self.probe(ANY_SOURCE, ANY_TAG, context, False) is None:  # what was seen was being changed
            return held
        return held + on_nic

    def pending(self) -> list[Pending]:
        under_way = [*self.share.active.values(), *self.host_queues.begun]
        return [described(one) for one in under_way if isinstance(one, Send | Receive) and not one.done]

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._close()

    def _close(self) -> None:
        self._try(None, self.progressing.empty)
        if self.hands_over:
            self._try(None, self.taking.drain, int(ANY))
        self.share.memory.pins.close()
        self.share.account()
        self.share.meter.pay()
        if self.hands_over and is_clean(self.share, self.host_queues):
            self.handover = written(self.endpoint)

    def _try(self, operation: Operation | None, work: Callable[..., Any], *arguments: object) -> None:
        """Do some work; if the NIC is lost, all that is under way ends, and the operation that the
        work was for."""
        try:
            if self.endpoint.broken is not None:
                raise self.endpoint.broken
            work(*arguments)
        except DeviceLost:
            self.losing.lose_nic(operation)
