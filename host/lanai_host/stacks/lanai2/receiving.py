"""Messages that come: receives are posted to the NIC, which says what each of them takes. If it has no cell for one
more, the host matches what is younger than all that the NIC has.
"""

from collections import OrderedDict
from collections.abc import Mapping

from lanai_hdl.remote.messages import End, Fate

from ...adapter.fifo import Fifo
from ...adapter.lending import Lending
from ...adapter.matching import Asks, Buffer, Receipt, Record, Source, Want, names, notes, record_in
from ...adapter.remote import AdapterRemote
from ...bus.base import BusError, Watched
from ...config import HostCost
from ...host_model.matcher import Matcher
from ...host_model.meter import Ledger, Meter, fail
from ...operation import ANY_SOURCE, ANY_TAG, ErrorKind, Operation
from .messages import SIGNALLED, UNEXPECTED, Kind, Message, Receive, noted
from .sending import Sending

ALIGNED = 4  # bytes; a message is placed at a multiple of them
MOST_LENT = 4  # receives at a time: other users need exposures too
LINE = 4  # receipts in a line of the processor's cache, which a poll looks at together


class Receiving:
    """Receives of this rank, and messages to it.

    The NIC's lists hold what is older than all that `matcher` has. `overflow`: the NIC adds nothing to its lists until
    it is asked to RESUME. Then each receive waits for the NIC's answer, and is the host's if nothing of the NIC's fits.

    Args:
        places: where the ranks are; ranks: the reverse.
        cells: receives that the NIC's list holds.
        placed: sizes of receives whose memory is lent to the NIC, which writes their messages there.

    Attributes:
        received: records and receipts that were taken.
        placed: messages that the NIC has written to their receives' memory.
        overflown: messages and receives that the NIC had no cell for.
    """

    def __init__(
        self,
        meter: Meter,
        asks: Asks,
        fifo: Fifo,
        places: Mapping[int, Source],
        sending: Sending,
        remote: AdapterRemote,
        lending: Lending,
        cells: int,
        placed: range,
        ledger: Ledger,
    ) -> None:
        self._meter = meter
        self._asks = asks
        self._fifo = fifo
        self._places = places
        self._ranks = {place: rank for rank, place in places.items()}
        self._sending = sending
        self._remote = remote
        self._lending = lending
        self._cells = cells
        self._placed = placed
        self._ledger = ledger
        self.matcher: Matcher[Receive, Message] = Matcher(meter)
        self.overflow = False
        self._asked: dict[int, Receive] = {}  # by slot, oldest first
        self._held: OrderedDict[int, Message] = OrderedDict()  # in the NIC's list, by number
        self._fetched: list[tuple[Operation, Receive, Message]] = []  # bytes that are read from their senders
        self._streams: dict[tuple[int, int], tuple[Receive, Message, int]] = {}  # bytes that come as DATA, and how many
        self._records = 0  # that were taken
        self._lent = 0  # receives whose memory is lent
        self.received = self.overflown = self.placed = 0

    # Receives.

    def receive(self, receive: Receive) -> None:
        """A receive begins."""
        while len(self._asks.free) < 2 and not receive.done:  # the NIC has not answered some that it does not keep
            if not self._asks.wait(self.watched(), "the NIC to take one more receive"):
                return
            self.look()
        self._post(receive)
        if self.overflow:
            self._settle(receive)

    def take(self, message: Message, receive: Receive) -> None:
        """Give a message that a probe has taken to its receive."""
        self._deliver(message, receive)

    def cancel(self, receive: Receive) -> bool:
        """Return whether the receive is withdrawn; else it has a message."""
        if receive.slot is not None:
            slot = receive.slot
            if self._asks.cancel(slot):
                self._leave_slot(slot)
                return True
            self._take_answers()
        if not receive.posted:
            return False
        self.matcher.withdraw(receive)
        return True

    def find(self, source: int, tag: int, context: int, take: bool) -> Message | None:
        """Return the oldest message that such a receive would take. It leaves its list if the caller takes it."""
        self.look()
        if self._held:
            receipt = self._asks.find(self._want(source, tag, context), take)
            if receipt is None or receipt.end is End.NONE:
                return None
            if receipt.end is End.RECORD:
                return self._named(receipt, source, tag, context, take)
            self._drain({})
        if not self.overflow:
            return None
        message = self.matcher.find(source, tag, context)
        if message is not None and take:
            self.matcher.remove(message)
        return message

    def posted(self) -> list[Receive]:
        """Receives that have met no message, the NIC's first."""
        return [*self._asked.values(), *self.matcher.receives]

    def unexpected(self) -> list[Message]:
        return [*self._held.values(), *self.matcher.messages]

    def fail_all(self, kind: ErrorKind, text: str) -> None:
        """The NIC is lost: nothing comes any more."""
        for receive in self.posted():
            fail(receive, kind, text)
        for receive, *_ in self._streams.values():
            fail(receive, kind, text)
        for receive in list(self.matcher.receives):
            self.matcher.withdraw(receive)
        self._asked.clear()
        self._streams.clear()

    def lose(self, rank: int, text: str) -> None:
        """A rank is lost: no receive waits for it any more."""
        for receive in [one for one in self.posted() if one.source in (rank, ANY_SOURCE)]:
            if self.cancel(receive):
                fail(receive, ErrorKind.PEER_FAILED, text)
        for key, (receive, *_) in list(self._streams.items()):
            if key[0] == rank:
                del self._streams[key]
                fail(receive, ErrorKind.PEER_FAILED, text)

    # What the NIC says.

    @property
    def polls(self) -> int:
        """The lines of memory that a poll looks at."""
        return 1 + -(-len(self._asked) // LINE)

    @property
    def idle(self) -> bool:
        return not (self._fetched or self._streams)

    def watched(self) -> list[Watched]:
        return [self._fifo.watched(), *(self._asks.watched(slot) for slot in self._asked)]

    @property
    def signalled(self) -> bool:
        """A record has come that interrupts the program's own work."""
        return self._fifo.look() and any(noted(note)[0] in SIGNALLED for note in notes(self._fifo))

    def arrival(self) -> Watched:
        """The word that changes when a record comes."""
        return self._fifo.watched()

    def look(self) -> None:
        """Take receipts and records that have come."""
        self._meter.spend(HostCost.POLL, self.polls)
        self._take_answers()
        if self.overflow:
            self._resume()

    def _take_answers(self) -> None:
        """Receipts come in the order of the asks, so the youngest is looked at first: who sees it sees all others. A
        record is there before a receipt that names it."""
        answers = {slot: receipt for slot in reversed(self._asked) if (receipt := self._asks.receipt(slot)) is not None}
        self._drain(answers)
        for slot in reversed(answers):
            self.received += 1
            if slot not in self._asked:
                continue
            receive, receipt = self._leave_slot(slot), answers[slot]
            if receipt.end is End.RECORD:
                message = self._named(receipt, receive.source, receive.tag, receive.context, True)
                if message is not None:
                    self._deliver(message, receive)
            elif receipt.end is End.PLACED:
                self._meter.spend(HostCost.COMPLETE)
                self.placed += 1
                receive.finish(self._ranks[receipt.source], receipt.tag, receipt.length)
            else:
                self.overflow = True
                self.overflown += 1
                message = self.matcher.begin(receive)
                if message is not None:
                    self._deliver(message, receive)

    def _drain(self, answers: Mapping[int, Receipt]) -> None:
        """Take all records. One that a receipt in `answers` names goes straight to its receive."""
        while self._fifo.look():
            record, number = record_in(self._fifo), self._records
            self._records += 1
            self.received += 1
            self._meter.spend(HostCost.COMPLETE)
            source = self._ranks[record.source]
            if record.aside:
                self._hear(*noted(record.note), source, record.data)
            else:
                message = Message(source, record.tag, record.context, record.note, record.data, number)
                self._sort(message, record, answers)
            self._fifo.drop()

    def _sort(self, message: Message, record: Record, answers: Mapping[int, Receipt]) -> None:
        """A message has come: the NIC says whose it is."""
        receive: Receive | None
        if record.fate is Fate.TAKEN:
            receive = self._leave_slot(record.slot)
        elif record.fate is Fate.HELD:
            receive = None if self._held else self._named_in(answers, message)
            if receive is None:
                self._held[message.number] = message
        else:
            self.overflow = True
            self.overflown += 1
            receive = self.matcher.arrive(message)
        if receive is None:
            self._meter.spend(HostCost.COPY, len(message.data))
            message.keep()
            self._ledger.filled(UNEXPECTED.name, message.source)
        else:
            self._deliver(message, receive)

    def _named_in(self, answers: Mapping[int, Receipt], message: Message) -> Receive | None:
        """The receive that an answer says has taken a message, which no longer is posted."""
        for slot, receipt in answers.items():
            receive = self._asked.get(slot)
            named = receipt.end is End.RECORD and names(receipt, message.number)
            if receive is not None and named and message.fits(receive.source, receive.tag, receive.context):
                return self._leave_slot(slot)
        return None

    def _hear(self, kind: Kind, serial: int, source: int, data: memoryview) -> None:
        """Serve a packet that was not matched. One that means nothing changes nothing."""
        if kind is Kind.ANSWER:
            self._sending.answered(source, serial)
        elif kind is Kind.WANT:
            self._sending.wanted(source, serial)
        elif kind is Kind.DATA and (source, serial) in self._streams:
            receive, message, begin = self._streams.pop((source, serial))
            if not data:
                fail(receive, ErrorKind.DAMAGED, f"(rank {source} cannot read its buffer)")
                return
            receive.put(self._meter, begin, data)
            if begin + len(data) < message.length:
                self._streams[source, serial] = (receive, message, begin + len(data))
            else:
                receive.finish(source, message.tag, message.length)

    def _named(self, receipt: Receipt, source: int, tag: int, context: int, take: bool) -> Message | None:
        """The message that a receipt names. It leaves the NIC's list if it is taken."""
        self._drain({})
        for number, message in self._held.items():
            if names(receipt, number) and message.fits(source, tag, context):
                if take:
                    del self._held[number]
                return message
        return None

    def _post(self, receive: Receive) -> None:
        want = self._want(receive.source, receive.tag, receive.context)
        receive.slot = self._asks.post(want, self._lend(receive))
        self._asked[receive.slot] = receive

    def _lend(self, receive: Receive) -> Buffer | None:
        """Lend a receive's memory, so that a message can be PLACED there. None if it must be copied."""
        body = receive.body
        if body.size not in self._placed or body.runs != 1 or body.address % ALIGNED or self._lent == MOST_LENT:
            return None
        try:
            lent = receive.lent = self._lending.lend(body.address, body.size, writable=True)
        except BusError:
            return None  # the copy finds the error again
        if lent is None:
            return None
        self._lent += 1
        return Buffer(lent.exposure.number, lent.exposure.offset(body.address), body.size)

    def _settle(self, receive: Receive) -> None:
        """Wait until the NIC has said what becomes of a receive that it will not keep."""
        while receive.slot is not None and self._asks.wait([self._asks.watched(receive.slot)], "its answer to POST"):
            self._take_answers()

    def _leave_slot(self, slot: int) -> Receive:
        """The receive in a slot is posted no more."""
        receive = self._asked.pop(slot)
        receive.slot = None
        self._asks.release(slot)
        if receive.lent is not None:
            receive.lent.users -= 1
            receive.lent = None
            self._lent -= 1
        return receive

    def _want(self, source: int, tag: int, context: int) -> Want:
        place = None if source == ANY_SOURCE else self._places[source]
        return Want(place, None if tag == ANY_TAG else tag, context)

    def _resume(self) -> None:
        """Let the NIC match again, if the host has no message and the NIC has room for the host's receives and for one
        more: the next one would be the host's again."""
        if self.matcher.held or self.matcher.waiting + len(self._asked) >= self._cells:
            return
        if not self._asks.resume(self._records):
            return
        self._take_answers()
        self.overflow = False
        for receive in list(self.matcher.receives):
            self.matcher.withdraw(receive)
            self._post(receive)

    # Bytes.

    def _deliver(self, message: Message, receive: Receive) -> None:
        """A message has met its receive."""
        if message.kept:
            self._ledger.freed(UNEXPECTED.name, message.source)
        if message.kind is Kind.LONG:
            self._fetch(message, receive)
        elif message.kind is Kind.HELD_BACK:
            receive.source, receive.tag = message.source, message.tag
            self._streams[message.source, message.serial] = (receive, message, 0)
            self._sending.tell(message.source, Kind.WANT, message.serial)
        else:
            receive.put(self._meter, 0, message.data)
            receive.finish(message.source, message.tag, message.length)
            if message.kind is Kind.SYNCHRONOUS:
                self._sending.answer(message.source, message.serial)

    def _fetch(self, message: Message, receive: Receive) -> None:
        """Read the bytes of a message from its sender's memory."""
        receive.source, receive.tag = message.source, message.tag
        reach = self._remote.reach(message.source, message.token)
        body = receive.body.part(0, message.length)
        self._fetched.append((self._remote.get(reach, 0, body), receive, message))
        self.end_fetched()

    def end_fetched(self) -> None:
        """See which messages are there as a whole, and tell their senders."""
        for one in [one for one in self._fetched if one[0].done]:
            self._fetched.remove(one)
            transfer, receive, message = one
            if transfer.error is not None:
                receive.error = transfer.error
            receive.finish(message.source, message.tag, message.length)
            self._sending.answer(message.source, message.serial)
