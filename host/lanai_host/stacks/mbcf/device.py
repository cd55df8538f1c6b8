"""The device as the MPI library sees it. Whether a message is written or queued is decided by time, not by size
(MB-11)."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from lanai_hdl.remote.packets import Status

from ...adapter.fifo import interrupt_price, work
from ...adapter.jobs import Jobs
from ...adapter.opened import OpenedAdapter
from ...adapter.operation import Attachment
from ...adapter.remote import AdapterRemote
from ...body import Body
from ...bus.base import Bus, KnownPoll, Slept, Watched
from ...config import HostConfig
from ...device import MAX_TAG, Arrived, Choices, RoomSink, SendMode, nothing
from ...host_model.meter import Ledger, Meter, fail
from ...operation import DeviceError, ErrorKind, Operation, Wait
from ..host_matching import HostMatchingDevice
from .barriers import Barriers
from .cancelling import Cancelling
from .layout import ROOM, MbcfOptions
from .operations import Matcher, Message, Receive, Send
from .peers import Peers, Queues
from .receiving import Receiving
from .requesting import Requesting
from .sending import Sending

CONTEXT_AT = MAX_TAG.bit_length()  # in the number of a barrier


class Mbcf(HostMatchingDevice[Receive, Message]):
    """Messages by remote write and by FIFO. Nothing moves on while the program is outside the
    library (MB-29).

    `members`: the ranks that begin together, by default all. In a small job (`greet`) this rank waits until they
    have opened their queues. For another rank it waits before the first operation that names it. In a large job it
    polls the FIFOs of those ranks only that it has talked to. Others announce themselves by a signal.
    """

    def __init__(
        self, bus: Bus, attachment: Attachment, costs: HostConfig, members: Sequence[int] | None = None
    ) -> None:
        self.rank = attachment.rank
        self.size = len(attachment.places)
        options = MbcfOptions(**attachment.options)
        self.choices = Choices(alltoall_under_way=options.alltoall, reduce_by_gather=options.gather)
        adapter = attachment.adapter
        packet = min(options.record, adapter.payload)
        meter = Meter(costs, bus.elapse)
        self._adapter = opened = OpenedAdapter(bus, attachment, meter, packet)
        self._jobs = jobs = Jobs(opened, adapter.payload, meter)
        self.remote: AdapterRemote = AdapterRemote(bus, opened, meter)
        self._queues = Queues(bus, opened, attachment, options)
        matcher = Matcher(meter)
        self._ledger = ledger = Ledger(self.rank)
        super().__init__(bus, meter, matcher, costs.watchdog)
        self._by_source, self._any_source = matcher.by_source, matcher.any_source
        self._requesting = Requesting(jobs, opened.lending, matcher, options)
        self._sending = Sending(meter, jobs, opened.lending, options, adapter.payload)
        self._receiving = Receiving(meter, jobs, matcher, self._requesting, self._sending, packet, ledger)
        self._receiving.strangers = large = self.size > options.greet
        self._peers = Peers(bus, jobs, self._queues, self._sending, self._receiving, self._requesting, large)
        self._cancelling = Cancelling(self._queues, jobs, matcher, self._sending, self._receiving, self._peers.hear_of)
        begun = {self.rank, *(self._queues if members is None else members)} if options.barrier else ()
        self._barriers = Barriers(jobs, self._queues, self._sending, begun)
        self.work = self._work
        self._interrupt = interrupt_price(costs)
        self._ends = 0  # looks in which a command had ended
        greeted = self._queues if members is None else self._peers.unmet.intersection(members)
        self._open(() if large else greeted)

    def send(self, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> Operation:
        send = Send(self.rank, dest, tag, context, body, mode is SendMode.SYNCHRONOUS)
        return self._start(send, self._send, self._to_self)

    def receive(self, source: int, tag: int, context: int, body: Body) -> Operation:
        receive = Receive(source, tag, context, body)
        return self._begin(receive)

    def barrier(self, members: Sequence[int], number: int) -> Operation | None:
        """One of all ranks that began together, by remote writes (MB-36). A context has a slot of its
        own, because those of two contexts need not begin in the same order everywhere."""
        context = number >> CONTEXT_AT
        if not self._barriers.serves(members, context):
            return None
        for peer in sorted(self._peers.unmet.intersection(self._barriers.targets)):
            self._meet(peer)
        operation = self._barriers.begin(context)
        self._move_on()
        return operation

    def receive_taken(self, arrived: Arrived, body: Body) -> Operation:
        assert isinstance(arrived.handle, Message)
        receive = Receive(arrived.source, arrived.tag, arrived.context, body)
        self._take(arrived.handle, receive)
        return receive

    def _sends(self) -> Iterable[Send]:
        return self._sending.pending()

    def cancel(self, operation: Operation) -> bool:
        """Receives without a message, and sends of which nothing has left. Other sends are called
        back, and may end as cancelled later."""
        if operation.done:
            return False
        if isinstance(operation, Send):
            cancelled = self._cancelling.cancel(operation)
            self._move_on()
            if not cancelled:
                return False
        elif not (isinstance(operation, Receive) and self._withdraw(operation)):
            return False
        operation.cancelled = operation.done = True
        return True

    def probe(self, source: int, tag: int, context: int, take: bool) -> Arrived | None:
        arrived = super().probe(source, tag, context, take)
        if arrived is not None:
            assert isinstance(arrived.handle, Message)
            arrived.handle.probed = True
        return arrived

    def report_room(self, sink: RoomSink) -> None:
        self._ledger.sink = sink

    def counters(self) -> Mapping[str, str]:
        return {
            "mbcf_written": "messages sent by remote write",
            "mbcf_written_bytes": "bytes sent by remote write",
            "mbcf_queued": "messages sent by FIFO",
            "mbcf_queued_bytes": "bytes of messages sent by FIFO",
        }

    def read_counter(self, name: str) -> int:
        found: int = getattr(self._sending.counts, name.removeprefix("mbcf_"))
        return found

    def _open(self, peers: Iterable[int]) -> None:
        self._queues.open()
        self._requesting.notices = self._queues.notices
        for peer in sorted(peers):
            self._meet(peer)

    def _meet(self, peer: int) -> None:
        if peer in self._lost:
            self._peers.lose(peer, self._lost[peer])
        else:
            self._peers.meet(peer, self._wait_for_status)

    def _wait_for_status(self, ends: list[Status], why: Wait) -> bool:
        """Wait until a command has ended, which `ends` shows. Return False if the NIC is lost."""
        self._take_ended()
        while not ends:
            self._sleep_on(self.remote.watched(), why)
            self._take_ended()
        return self._failure is None

    def _send(self, send: Send) -> None:
        if send.dest in self._peers.unmet:
            self._meet(send.dest)
        self._sending.queue(send)
        self._move_on()
        self._let_leave(send)

    def _let_leave(self, send: Send) -> None:
        """Stay in the call until the message has left, as the thesis's does (MB-26), or the peer's FIFO is full."""
        while self._failure is None and self._sending.leaves(send):
            self._sleep_on(self.remote.watched(), Wait("MPI_Isend", send.dest, send.tag, note="the message leaves"))
            self._move_on()

    def _to_self(self, send: Send, data: bytes) -> None:
        """A match on this host."""
        own = send if send.synchronous else None
        message = Message(self.rank, send.tag, send.context, len(data), own_send=own)
        message.data, message.here = bytearray(data), len(data)
        self._receiving.arrive(message)

    def _begin(self, receive: Receive) -> Receive:
        if self._refused(receive):
            return receive
        if receive.source in self._peers.unmet:
            self._meet(receive.source)
        self._receiving.receive(receive)
        box = self._sending.boxes.get(receive.source)
        if box is not None and box.lost and receive.posted:
            self._give_up(receive, box.lost)
        self._move_on()
        return receive

    def _take(self, message: Message, receive: Receive) -> None:
        self._receiving.take(message, receive)
        self._move_on()

    def _withdraw(self, receive: Receive) -> bool:
        """Take a receive back. Its memory can no longer be written to (MB-34)."""
        if not receive.posted:
            return False
        if self._requesting.asked(receive):
            self._queues.revoke_notices()
            memory = self._requesting.memory(receive)
            if memory is not None:
                self._adapter.lending.withdraw(memory)
            self._adapter.exposures.settle_accesses()
            self._requesting.paused = True
            self._receiving.look()  # what was written before
            self._requesting.paused = False
            self._requesting.suspend()
            self._queues.renew_notices()
            self._requesting.notices = self._queues.notices
        if receive.posted:
            self._matcher.withdraw(receive)
            self._requesting.ask_all()
            self._move_on()
            return True
        return False

    def _work(self, picoseconds: int, _served: Callable[[], None] = nothing) -> None:
        """Signals interrupt the program's own work. Nothing else does (MB-29)."""
        work(self._bus, picoseconds, self._queues.signals, self._serve_interrupt, self._interrupt)

    def _serve_interrupt(self) -> None:
        """Serve signals. Messages that go back leave now: their sender waits, and nothing moves them on later.

        A message without a free command buffer waits for one. So does a message behind records that were refused.
        Without room at the sender, it signals again when it has made room.
        """
        returned = self._cancelling.returned
        self._look()
        if self._cancelling.owes:
            self._take_room()  # the signal that tells of it may have come during the look
            self._move_on()
        while self._failure is None and (
            self._cancelling.answers_move or (self._cancelling.returned != returned and not self._jobs.begun)
        ):
            self._sleep_on(self.remote.watched(), Wait("the program's own work", note="messages go back"))
            self._move_on()

    def _look(self) -> None:
        """Once over all that may have changed, as far as there is not enough."""
        if self._failure is not None:
            return
        self._move_on()
        self._receiving.look(self._enough)
        self._take_room()
        self._cancelling.serve()
        written = self._barriers.look()
        if written:
            self._receiving.pay_for_writes(written, ROOM.size)
        self._move_on()
        for box in self._sending.boxes.values():
            self._cancelling.urge(box)
        self._take_losses()

    def _take_room(self) -> None:
        """See which peers have emptied a FIFO that refused records."""
        for peer, box in self._sending.boxes.items():
            if box.stream.refused:
                box.stream.room(self._queues.room(peer))

    def _take_losses(self) -> None:
        """Act on the peers that do not answer the adapter."""
        lost, self._sending.news_of_lost = self._sending.news_of_lost, []
        for peer, text in lost:
            self._note_silent(peer, text)

    def _lose(self, rank: int, text: str) -> None:
        if rank in self._sending.boxes:
            self._sending.lose(rank, text)
            self._receiving.lose(rank, text)
            self._requesting.forget(rank)
        self._barriers.fail_all(text)
        for receive in [*self._by_source.get(rank, {}).values(), *self._any_source.values()]:
            self._give_up(receive, text)

    def _lose_nic(self, text: str) -> None:
        kind = ErrorKind.NIC_LOST
        for peer in self._sending.boxes:
            self._sending.lose(peer, text, kind)
            self._receiving.lose(peer, text, kind)
            self._requesting.forget(peer)
        for receive in list(self._matcher.receives):
            self._give_up(receive, text, kind)
        self._barriers.fail_all(text, kind)
        self.remote.abandon(DeviceError(kind, text))
        self._move_on()

    def _give_up(self, receive: Receive, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        self._matcher.withdraw(receive)
        fail(receive, kind, text)

    def _move_on(self) -> None:
        """Begin what may begin, until nothing more ends at once."""
        self._sending.advance()
        while self._take_ended():
            self._ends += 1
            self._sending.advance()

    def _take_ended(self) -> bool:
        """See which commands have ended, and begin others. Whether there may be more to see."""
        looked, remote = bool(self._jobs.running), self.remote
        ended = self._jobs.advance()
        if not (remote.under_way or remote.watches) and (looked or not self._adapter.under_way):
            return ended  # no other command may have ended
        return remote.look() or ended or self._jobs.untaken

    @property
    def _found(self) -> int:
        return self._ends + self._receiving.received + self._barriers.passed

    @property
    def _settled(self) -> bool:
        """A poll does nothing unless a word has changed, and nothing follows from the good end of a command."""
        return (
            self._sending.settled
            and self._receiving.settled
            and self._jobs.begun
            and self.remote.idle
            and self._barriers.idle
            and self._queues.signals.emptied
            and not (self._jobs.untaken or self._meter.owed or self._meter.sink)
        )

    def _known_poll(self, watched: Sequence[Watched], first: bool) -> KnownPoll:
        return self._adapter.known_poll(watched, self._receiving.poll_price)

    def _after(self, slept: Slept) -> None:
        self._receiving.woken = self._receiving.woken or slept.waited
        if slept.noted:
            self._adapter.note()
            self._take_ended()

    def _watched(self) -> list[Watched]:
        """The words that change when something happens that this rank has not seen."""
        watched = self._receiving.watched() + self.remote.watched()  # which has the jobs' word
        watched += [self._queues.signals.watched(), *self._barriers.watched()]
        for peer, box in self._sending.boxes.items():
            if box.stream.refused:
                watched.append(self._queues.watched(peer, box.stream.emptied))
        return watched

    def _rest(self, why: Wait, first: bool = False) -> None:
        """Only a look before the sleep is known: commands end during a sleep."""
        if first:
            super()._rest(why, first)
        else:
            self._sleep(why)

    def _sleep(self, why: Wait) -> None:
        ends = self._ends
        self._move_on()
        if self._ends != ends:
            return
        watched = self._watched()
        since = self._bus.now
        self._sleep_on(watched, why)
        self._receiving.woken = self._receiving.woken or self._bus.now > since

    def close(self) -> None:
        why = Wait("MPI_Finalize", note="the last messages leave")
        self._until(lambda: self._sending.idle and self._jobs.idle and self.remote.idle, why)
        self.remote.close()
