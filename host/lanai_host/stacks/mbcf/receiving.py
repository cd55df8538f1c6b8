"""Messages that come by FIFO, and notices of those that were written to a receive's memory (MB-15,
MB-23, MB-27, MB-28)."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from lanai_hdl.remote.packets import Op

from ...adapter.fifo import Fifo
from ...adapter.jobs import Job, Jobs, ignored
from ...adapter.operation import Token
from ...bus.base import Watched
from ...config import HostCost
from ...host_model.meter import Ledger, Meter, fail
from ...operation import DeviceError, ErrorKind
from .layout import FIFO_ROOM, HEAD, ROOM, Head, Kind
from .operations import Matcher, Message, Receive
from .requesting import Requesting
from .sending import Sending

EMPTIED = attrgetter("emptied")


def never() -> bool:
    return False


def no_follow_up(peer: int) -> None:
    """The peer needs no more than to be told."""


@dataclass
class Inbox:
    """Messages from one peer.

    Attributes:
        token, room: the word at the peer in which this rank says that its FIFO has room again.
        message: whose bytes come now.
        reported, reports: the refusal that the peer has been told of last, if no record has come since, and how
            often it was told of any.
    """

    peer: int
    fifo: Fifo
    token: Token
    room: int
    message: Message | None = None
    reported: int | None = None
    reports: int = 0

    @property
    def emptied(self) -> bool:
        """All records have been taken, and the peer has been told what it must know of that."""
        return self.fifo.emptied and self.fifo.refused in (None, self.reported)

    def drop(self) -> int:
        """The oldest record has been taken: return its bytes. If the peer was told of a refusal, that is over:
        the record came after it. The next one may stand at the same count, which wraps."""
        self.reported = None
        return self.fifo.drop()


class Receiving:
    """Messages to this rank. Nothing moves on but by `look`, `receive` and `take` (MB-29).

    Attributes:
        strangers: peers without an inbox announce themselves by signals, for which a poll looks too.
    """

    def __init__(
        self,
        meter: Meter,
        jobs: Jobs,
        matcher: Matcher,
        requesting: Requesting,
        sending: Sending,
        payload: int,
        ledger: Ledger,
    ) -> None:
        self._meter = meter
        self._jobs = jobs
        self._matcher = matcher
        self._requesting = requesting
        self._sending = sending
        self.boxes: dict[int, Inbox] = {}
        self._payload = payload
        self._ledger = ledger
        self.strangers = False
        self.received = 0  # records
        self.woken = False  # this rank has slept since it took a record
        # Called with a peer behind the news that it has room again.
        self.room_made: Callable[[int], None] = no_follow_up

    @property
    def settled(self) -> bool:
        """A poll finds nothing unless a word has changed."""
        return all(map(EMPTIED, self.boxes.values()))

    @property
    def poll_price(self) -> int:
        """Picoseconds of a poll that finds nothing."""
        return self._meter.costs.price(HostCost.POLL, self._polls)

    @property
    def _polls(self) -> int:
        """The FIFOs that a poll looks at."""
        return len(self.boxes) + self.strangers

    def watched(self) -> list[Watched]:
        return [box.fifo.watched() for box in self.boxes.values()]

    def look(self, enough: Callable[[], bool] = never) -> None:
        """Take what has come, and ask again for what has not (MB-28). Once there is `enough`, other
        messages stay in their FIFOs: if their receives come first, they are copied only once."""
        self._meter.spend(HostCost.POLL, self._polls)
        wild = len(self._matcher.any_source)
        for box in self.boxes.values():
            if self._drain(box, enough):
                self._requesting.ask(box.peer)
        if len(self._matcher.any_source) < wild:  # what was behind it may be asked for now
            self._requesting.ask_all()

    def receive(self, receive: Receive) -> None:
        """A receive begins (MB-27)."""
        message = self._matcher.begin(receive)
        if message is not None:
            self.take(message, receive)
            return
        self.look(lambda: receive.done)
        if receive.posted and receive.source in self._requesting.sources:
            self._requesting.ask(receive.source)

    def take(self, message: Message, receive: Receive) -> None:
        """A message has met its receive."""
        if message.failure is not None:
            fail(receive, message.failure.kind, message.failure.text)
            return
        message.receive = receive
        receive.source, receive.tag = message.source, message.tag
        if message.synchronous is not None:
            head = Head(Kind.MATCHED, 0, message.context, message.tag, message.synchronous, 0, 0)
            self._sending.tell(message.source, head)
            message.synchronous = None
        if message.own_send is not None:
            message.own_send.done = True
        if message.data is not None:
            receive.put(self._meter, 0, memoryview(message.data)[: message.here])
            message.data = None
        if message.whole:
            receive.finish(message.source, message.tag, message.length)

    def lose(self, peer: int, text: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """Nothing comes from a peer any more: a message of which a part has come ends with an error."""
        message = self.boxes[peer].message
        if message is not None:
            message.failure = DeviceError(kind, text)
            if message.receive is not None:
                fail(message.receive, kind, text)

    def arrive(self, message: Message) -> None:
        """A message begins to come: it meets its receive, or is kept (MB-15)."""
        receive = self._matcher.arrive(message)
        if receive is None:
            message.data = bytearray(message.length) if message.data is None else message.data
        else:
            self.take(message, receive)

    def _drain(self, box: Inbox, enough: Callable[[], bool]) -> bool:
        """Take the records of a peer. Whether receives may be asked for now that could not be
        before."""
        news = False
        while box.fifo.look():
            if enough():
                return news
            record = box.fifo.record()
            head = Head.unpack(record) if box.message is None else None
            self._pay_for(record, head)
            self.received += 1
            if box.message is not None:
                self._append(box.message, record)
            elif head is not None:
                news = self._serve(box, record, head) or news
            if box.message is not None and box.message.whole:
                box.message = None
            self._ledger.freed(FIFO_ROOM, box.peer, box.drop())
        self._tell_room(box)
        return news

    def _pay_for(self, record: memoryview, head: Head | None) -> None:
        """Charge the cost of taking a record; without a head, it goes on with a message. Where packets interrupt the
        processor, it has worked on the earlier ones of a remote write while the wire was busy with the next.
        """
        size, charge = len(record), self._meter.charge
        charge(HostCost.COMPLETE)
        charge(HostCost.ARRIVAL)
        dequeued, queued = True, False
        if head is not None:
            queued = head.kind == Kind.MESSAGE
            dequeued = queued or size > HEAD.size
            if not dequeued:
                size += min(head.length, self._payload)
            if self.woken:
                charge(HostCost.WAKE)
                charge(HostCost.WAKE_QUEUED, queued)
                self.woken = False
            charge(HostCost.TAKE, queued and head.length > 0)
        charge(HostCost.ARRIVAL_BYTE, size)
        charge(HostCost.DEQUEUE, dequeued)
        self._meter.pay()

    def pay_for_writes(self, count: int, size: int) -> None:
        """Charge the cost of `count` remote writes of `size` bytes each, seen without a record."""
        if not count:
            return
        charge = self._meter.charge
        charge(HostCost.ARRIVAL, count)
        charge(HostCost.ARRIVAL_BYTE, count * size)
        if self.woken:
            charge(HostCost.WAKE)
            self.woken = False
        self._meter.pay()

    def _serve(self, box: Inbox, record: memoryview, head: Head) -> bool:
        if head.kind == Kind.MATCHED:
            self._sending.matched(box.peer, head.serial)
            return False
        if head.kind == Kind.RETURNED:
            self._sending.returned(box.peer, head.serial)
            return False
        if head.kind == Kind.WRITTEN:
            receive = self._requesting.answered(box.peer, head.request)
            if receive is not None:
                receive.put(self._meter, 0, record[HEAD.size :])
                receive.finish(box.peer, head.tag, head.length)
            return True
        self._requesting.message(box.peer, head.serial, head.request)
        synchronous = head.serial if head.synchronous else None
        box.message = message = Message(box.peer, head.tag, head.context, head.length, synchronous)
        self.arrive(message)
        self._append(message, record[HEAD.size :])
        return True

    def _append(self, message: Message, data: memoryview) -> None:
        begin = message.here
        message.here += len(data)
        receive = message.receive
        if receive is None:
            assert message.data is not None
            self._meter.spend(HostCost.COPY, len(data))
            message.data[begin : message.here] = data
            return
        receive.put(self._meter, begin, data)
        if message.whole and not receive.done:
            receive.finish(message.source, message.tag, message.length)

    def _tell_room(self, box: Inbox) -> None:
        """The FIFO is empty, and has refused records: their sender may try again (MB-07)."""
        refused = box.fifo.refused
        if refused is None or refused == box.reported:
            return
        box.reported = refused
        box.reports += 1
        what = f"the news for rank {box.peer} that there is room"
        self._jobs.add(Job(Op.WRITE, box.token, box.room, what, ignored, ROOM.pack(box.reports)))
        self.room_made(box.peer)
