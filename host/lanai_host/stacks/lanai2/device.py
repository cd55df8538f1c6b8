"""The device as the MPI library sees it."""

from collections.abc import Callable, Mapping, Sequence

from ...adapter.fifo import Fifo, interrupt_price
from ...adapter.groups import Groups
from ...adapter.jobs import Jobs
from ...adapter.matching import Asks
from ...adapter.opened import OpenedAdapter
from ...adapter.operation import Attachment
from ...adapter.remote import AdapterRemote
from ...body import Body
from ...bus.base import PAGE_SIZE, Bus, Watched
from ...config import HostConfig
from ...device import Arrived, Envelope, Pending, RoomSink, SendMode, nothing
from ...host_model.meter import Ledger, Meter, fail
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ...remote import Access
from ..health import check_probe, fail_probe
from ..host_matching import HostMatchingDevice, is_over
from .collectives import Lanai2Collectives
from .messages import MOST_TAG, SIGNALS, Lanai2Options, Message, Receive, Send
from .receiving import Receiving
from .sending import RETRY, Sending


class Lanai2(HostMatchingDevice[Receive, Message]):
    """Messages that the NIC matches and moves, while the program is outside the library too. What the NIC has no cell
    for is matched on the host.
    """

    max_tag = MOST_TAG

    def __init__(self, bus: Bus, attachment: Attachment, costs: HostConfig) -> None:
        self.rank = attachment.rank
        self.size = len(attachment.places)
        options = Lanai2Options(**attachment.options)
        adapter, home = attachment.adapter, attachment.place
        meter = Meter(costs, bus.elapse)
        opened = OpenedAdapter(bus, attachment, meter, adapter.payload)
        self._jobs = jobs = Jobs(opened, adapter.payload, meter)
        self.remote: AdapterRemote = AdapterRemote(bus, opened, meter)
        memory = bus.allocate(2 * options.fifo_pages * PAGE_SIZE)
        fifo = Fifo(memory, 0, options.fifo_pages, options.fifo_pages, adapter.payload)
        asks = Asks(bus, home.process, opened.flags, meter, self._await)
        tokens = {rank: attachment.token(rank, memory.size) for rank in range(self.size)}
        places = {rank: (place.node, place.process) for rank, place in enumerate(attachment.places)}
        cells = adapter.match_cells // adapter.processes
        self._sending = Sending(self.rank, bus, jobs, opened.lending, self.remote, tokens, adapter.payload)
        placed = range(options.place, self._sending.most + 1)
        self._ledger = ledger = Ledger(self.rank)
        self._receiving = Receiving(
            meter, asks, fifo, places, self._sending, self.remote, opened.lending, cells, placed, ledger
        )
        groups = Groups(bus, home.process, opened.flags, meter, self._await)
        self._collectives = Lanai2Collectives(self.rank, groups, adapter.groups, places, meter, self._note_silent)
        self.collectives = self._collectives if adapter.groups else None
        super().__init__(bus, meter, self._receiving.matcher, costs.watchdog)
        self._ends = self._seen = 0
        self._tried = bus.now  # since then nothing has changed while something was sent again
        self.work = self._work
        self._interrupt = interrupt_price(costs)
        own = opened.open(memory, memory.size, Access.MESSAGES, before=asks.reset)
        signals = opened.exposures.again(own, Access.MESSAGES | Access.SIGNAL, key=home.key)
        assert signals.number == SIGNALS

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        send = Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS)
        if not self._refused(send):
            self._sending.send(send)
            self._move_on()
            self._let_leave(send)
        return send

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        receive = Receive(source, tag, context, body)
        if not self._refused(receive):
            self._receiving.receive(receive)
            if source in self._lost:
                self._look()  # it may have sent a message before
                self._give_up(receive, self._lost[source])
        return receive

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        assert isinstance(arrived.handle, Message)
        receive = Receive(arrived.source, arrived.tag, arrived.context, body)
        if not self._refused(receive):
            self._receiving.take(arrived.handle, receive)
            self._move_on()
        return receive

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        message = None if self._failure is not None else self._receiving.find(source, tag, context, take)
        self._meter.pay()
        if message is not None:
            return Arrived(message.source, message.tag, message.length, message.context, message)
        if self._failure is not None:
            fail_probe(self._failure)
        check_probe(source, self._lost, self._told)
        return None

    def cancel(self, operation: Operation) -> bool:
        """Receives without a message, and sends of which nothing has left."""
        if operation.done:
            return False
        if isinstance(operation, Send):
            cancelled = self._sending.withdraw(operation)
        else:
            cancelled = isinstance(operation, Receive) and self._receiving.cancel(operation)
        if cancelled:
            operation.cancelled = operation.done = True
        return cancelled

    def unexpected(self) -> list[Envelope]:
        return [Envelope(one.source, one.tag, one.context, one.length) for one in self._receiving.unexpected()]

    def pending(self) -> list[Pending]:
        receives = self._receiving.posted()
        return [
            *(Pending(False, one.source, one.tag, one.context, one.body.size) for one in receives),
            *(Pending(True, one.dest, one.tag, one.context, one.length) for one in self._sending.pending()),
        ]

    def report_room(self, sink: RoomSink) -> None:
        self._ledger.sink = sink

    def counters(self) -> Mapping[str, str]:
        return {
            "lanai2_sent": "messages sent",
            "lanai2_long": "messages whose bytes their receivers read from the program's memory",
            "lanai2_placed": "messages that the NIC has written to their receives' memory",
            "lanai2_overflow": "messages and receives for which the NIC had no cell",
        }

    def read_counter(self, name: str) -> int:
        counts = {
            "lanai2_sent": self._sending.sent,
            "lanai2_long": self._sending.long,
            "lanai2_placed": self._receiving.placed,
            "lanai2_overflow": self._receiving.overflown,
        }
        return counts[name]

    def _await(self, watched: Sequence[Watched], what: str) -> bool:
        """Wait for an answer of the NIC. Return False if it is lost."""
        if self._failure is None:
            self._sleep_on(watched, Wait("the NIC", note=what))
        return self._failure is None

    def _work(self, picoseconds: int, _served: Callable[[], None] = nothing) -> None:
        """A long message interrupts the program's own work: the NIC reads its bytes meanwhile. Nothing else does."""
        while picoseconds > 0 or self._receiving.signalled:
            if self._receiving.signalled:
                self._bus.elapse(self._interrupt)
                self._look()
                if self._failure is not None:
                    return
            else:
                begun = self._bus.now
                self._bus.work(picoseconds, [self._receiving.arrival()], Wait("the program's own work"))
                picoseconds -= self._bus.now - begun

    def _let_leave(self, send: Send) -> None:
        """Stay in the call until the message has left: nothing moves on while the program computes."""
        why = Wait("MPI_Isend", send.dest, send.tag, note="the message leaves")
        while self._failure is None and self._sending.leaves(send):
            watched = self.remote.watched()
            if watched:
                self._sleep_on(watched, why)
            else:
                self._bus.elapse(RETRY)
            self._move_on()
            self._take_losses()

    def _look(self) -> None:
        if self._failure is not None:
            return
        self._move_on()
        self._receiving.look()
        self._collectives.look()
        self._move_on()
        self._take_losses()

    def _take_losses(self) -> None:
        """Act on the peers that do not answer the adapter."""
        lost, self._sending.news_of_lost = self._sending.news_of_lost, []
        for rank, text in lost:
            if rank == self.rank:
                self._lose(rank, text)
            else:
                self._note_silent(rank, text)

    def _lose(self, rank: int, text: str) -> None:
        self._ends += 1
        self._sending.lose(rank, text)
        self._receiving.lose(rank, text)
        self._collectives.lose(rank, text)

    def _lose_nic(self, text: str) -> None:
        kind = ErrorKind.NIC_LOST
        for rank in range(self.size):
            self._sending.lose(rank, text, kind)
            self._collectives.lose(rank, text, kind)
        self.remote.abandon(DeviceError(kind, text))
        self._move_on()
        self._receiving.end_fetched()
        self._receiving.fail_all(kind, text)

    def _give_up(self, receive: Receive, text: str) -> None:
        if not receive.done and self._receiving.cancel(receive):
            fail(receive, ErrorKind.PEER_FAILED, text)

    def _move_on(self) -> None:
        """Begin what may begin, until nothing more ends at once."""
        self._sending.advance()
        while self._take_ended():
            self._ends += 1
            self._receiving.end_fetched()
            self._sending.advance()

    def _take_ended(self) -> bool:
        """See which commands have ended, and begin others. Whether there may be more to see."""
        ended = self._jobs.advance()
        return self.remote.look() or ended or self._jobs.untaken

    @property
    def _found(self) -> int:
        return self._ends + self._receiving.received + self._collectives.ended

    def _wait(self, operations: Sequence[Operation] | None, why: Wait) -> None:
        self._bus.catch_up()
        while True:
            self._look()
            if self._failure is not None or is_over(operations, self._found != self._seen):
                if operations is None:
                    self._seen = self._found
                return
            self._sleep(why)

    def _watched(self) -> list[Watched]:
        return self._receiving.watched() + self.remote.watched() + self._collectives.watched()

    def _sleep(self, why: Wait) -> None:
        """Until something changes that this rank has not seen, or something may be sent again."""
        watched = self._watched()
        if self._sending.retries and self._bus.now - self._tried < self._watchdog:
            if self._bus.wait_any(watched, why, RETRY) is not None:
                self._tried = self._bus.now
        else:
            self._sleep_on(watched, why)
            self._tried = self._bus.now

    def close(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        self._look()
        while self._failure is None and not (
            self._sending.idle
            and self._receiving.idle
            and self._collectives.idle
            and self._jobs.idle
            and self.remote.idle
        ):
            self._sleep(why)
            self._look()
        self.remote.close()
