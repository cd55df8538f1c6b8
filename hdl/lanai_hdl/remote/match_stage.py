"""The stage between the judging of a packet and the mover, in which messages meet receives."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from .access_work import AccessDone, AccessWork, Kind
from .cleared_memory import ClearedMemory
from .fifo import CONTROL_BYTES
from .lookup_port import Need
from .match import Match, MatchOp, Outcome
from .match_slots import MatchSlots, SlotWrite
from .message_header import Message, of_message, of_placed, of_record, of_slot
from .messages import (
    HEADER_BYTES,
    NUMBER_BITS,
    RECEIPT_BYTES,
    RECEIPTS_AT,
    SLOT_BITS,
    TAKEN_BITS,
    Ask,
    End,
    FromWord,
    RecordWord,
)
from .packets import REPLY_WORDS, REQUEST_WORDS, Status
from .parameters import RemoteParameters
from .sender_bars import SenderBars

ASKED = {Ask.POST: MatchOp.POST, Ask.PROBE: MatchOp.PROBE, Ask.TAKE: MatchOp.TAKE, Ask.CANCEL: MatchOp.CANCEL}
RECORD_AT = REPLY_WORDS  # word of the packet that a record begins with
DATA_AT = REQUEST_WORDS + HEADER_BYTES // 4  # ... that is the first one of a receive's buffer
EVENTS = ("placed", "recorded", "left", "asked")


class MatchStage(wiring.Component):
    """Serves a SEND, or what a process has asked in a slot, one after the other.

    Nothing else is served meanwhile, so what becomes of a message is one step. The receive that fits is looked for.
    The message is written to its buffer, or to a record. Then the receive leaves, or the message joins. Without room
    for a record nothing changes, and the sender is barred. Its SENDs to this process are refused until one that comes
    AGAIN is taken.

    A process that once finds no cell is in overflow until it RESUMEs: nothing of it joins. So what is kept
    here is older than all that the process keeps itself.

    Members
    -------
    slots : ``In(SlotWrite())``; lost : of `MatchSlots`
    waits : ``Out(1)``, what is asked in a slot may be served; serve : ``In(1)``, it is from the next slot on
    looks : ``In(1)``, `message` stands and may be served, and the lookup of `work` begins in this slot. Unless it
        `sends` three slots later, and until `done`, it is not served.
    work, judged, wanted, own, tells, told : ``Out``, to the mover; did : ``In(stream)``, its answer, and `checked`
        the status of the lookup of a work that is not wanted
    rewinds, word_at : ``Out``, the mover's next word is this one of the packet
    records, record : ``Out``, a record is written, and its first word
    renews, source : ``In``, a session of this NIC begins
    done : ``Out(1)``, what was served has ended, a SEND with `status`. `signals`: the host is interrupted for it
    placed, recorded, left, asked : ``Out(1)``, a slot's events
    idle, ready_next : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "slots": In(SlotWrite()),
                "lost": Out(1),
                "waits": Out(1),
                "serve": In(1),
                "looks": In(1),
                "sends": In(1),
                "message": In(Message),
                "work": Out(stream.Signature(AccessWork)),
                **{name: Out(1) for name in ("judged", "wanted", "own", "tells")},
                "told": Out(64),
                "did": In(stream.Signature(AccessDone, always_ready=True)),
                "checked": In(Status),
                "rewinds": Out(1),
                "word_at": Out(range(DATA_AT + 1)),
                "records": Out(1),
                "record": Out(layout(RecordWord)),
                "renews": In(1),
                "source": In(8),
                "done": Out(1),
                "status": Out(Status),
                "signals": Out(1),
                **{name: Out(1) for name in EVENTS},
                "idle": Out(1),
                "ready_next": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.match = self._match = Match(config.match_cells, config.match_cells // config.processes)
        m.submodules.kept = self._kept = MatchSlots(config)
        m.submodules.numbers = self._numbers = ClearedMemory(TAKEN_BITS, config.processes)
        m.submodules.bars = self._bars = SenderBars(config)
        self._at = Signal.like(self._kept.at)  # the slot that is served, or that of the receive that fits
        self._asks = Signal()  # what is served was asked in a slot
        self._owner = Signal(3)  # the process whose messages and receives are meant
        self._overflow = Signal(config.processes)
        self._found, self._full = Signal(), Signal()  # a receive fits the message; none does, and it may not join
        self._end, self._number = Signal(End), Signal(NUMBER_BITS)
        self._commits = Signal()  # the message has been written
        self._messages = Signal()  # of a RESET: receives have been dropped
        m.d.comb += [
            self._owner.eq(Mux(self._asks, self._at[SLOT_BITS:], self.message.owner)),
            self.ready_next.eq(self._numbers.ready_next & self._bars.ready_next),
        ]
        self._keep(m)
        self._bar(m)
        self._question(m)
        self._offer(m)
        self._commit(m)
        with m.FSM():
            self._choose(m)
            self._send(m)
            self._answer(m)
            with m.State("TELL"):
                m.d.comb += [self.work.valid.eq(1), self.tells.eq(1)]
                with m.If(self.did.valid):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += self.done.eq(~self._match.busy)
                with m.If(self.done):
                    m.d.sync += [self._asks.eq(0), self.status.eq(Status.OK), self.signals.eq(0)]
                    m.next = "IDLE"
        return m

    def _keep(self, m):
        """Slots, numbers of records, overflow."""
        kept, numbers, owner = self._kept, self._numbers, self._owner
        wiring.connect(m, wiring.flipped(self.slots), kept.host)
        address, self._count = numbers.read(0)
        self._overflows = self._overflow.bit_select(owner[: self._owner_bits], 1)
        m.d.comb += [
            self.lost.eq(kept.lost),
            kept.at.eq(self._at),
            kept.o.ready.eq(self.serve),
            address.eq(owner),
            numbers.write_addr.eq(owner),
            numbers.write_data.eq(Mux(self._asks, 0, self._count + 1)),
        ]

    @property
    def _owner_bits(self):
        return (self.config.processes - 1).bit_length()

    def _bar(self, m):
        """A sender is barred by its NIC and process, and by whom it sends to."""
        message, bars = self.message, self._bars
        m.d.comb += [
            bars.peer.eq(message.size.node),
            bars.sender.eq(message.size.process),
            bars.owner.eq(message.owner),
            bars.ended.eq(self.done & ~self._asks),
            bars.status.eq(self.status),
            bars.renews.eq(self.renews),
            bars.renewed.eq(self.source),
        ]

    def _question(self, m):
        """The question is about the receive in the slot, or about the message."""
        question = self._match.i.payload
        m.d.comb += [question.entry.envelope.owner.eq(self._owner), question.closed.eq(self._overflows)]
        with m.If(self._asks):
            of_slot(m, question.entry, self._kept.words, self._at)
        with m.Else():
            of_message(m, question.entry, self.message, self._count)

    def _offer(self, m):
        """The mover's work is a look at the FIFO of messages, data for a buffer, a record, or a receipt."""
        message, size, work, slot = self.message, self.message.size, self.work.payload, self._kept.words
        number, told = Signal(32), Signal(layout(FromWord))
        m.d.comb += [
            work.owner.eq(Mux(self._asks, self._owner, message.owner)),
            work.exposure.eq(message.exposure),
            work.key.eq(message.key),
            work.flag.status.eq(self._end),
            self.told.eq(Cat(number, told.as_value())),
        ]
        of_record(m, self.record, message, self._at, self._found, self._full)
        with m.If(self._end == End.RECORD):
            m.d.comb += number.eq(self._number)
        with m.If(~self._asks):  # else it is another process's business
            of_placed(m, told, work.flag, message)
        with m.If(self.own):
            m.d.comb += [work.kind.eq(Kind.DATA), work.need.eq(Need.OWN), work.exposure.eq(slot.ask.local)]
            m.d.comb += [work.offset.eq(slot.offset), work.length.eq(size.length - HEADER_BYTES)]
        with m.Elif(self.tells):
            m.d.comb += [work.kind.eq(Kind.FLAG), work.need.eq(Need.FLAGS)]
            m.d.comb += work.offset.eq(RECEIPTS_AT + Cat(Const(0, (RECEIPT_BYTES - 1).bit_length()), self.record.slot))
        with m.Elif(self.records):
            m.d.comb += [work.kind.eq(Kind.APPEND), work.need.eq(Need.SEND), work.length.eq(size.length)]
        with m.Else():
            m.d.comb += [work.kind.eq(Kind.DATA), work.need.eq(Need.SEND), work.length.eq(CONTROL_BYTES)]

    def _commit(self, m):
        """The message has been written: its receive leaves, or it joins, with the number of its record."""
        question = self._match.i
        with m.If(self._commits):
            m.d.comb += [question.payload.op.eq(MatchOp.ARRIVE), question.valid.eq(1), self.placed.eq(~self.recorded)]
            m.d.sync += self._end.eq(End.PLACED)
        with m.If(self.left):
            m.d.sync += self._overflows.eq(1)

    def _choose(self, m):
        """A message's receive is looked for while its place in the order is judged."""
        match, kept = self._match, self._kept
        question, answer = match.i.payload, match.o.payload
        m.d.comb += [self.judged.eq(1), self.wanted.eq(1)]
        with m.State("IDLE"):
            m.d.comb += [
                self.idle.eq(kept.idle & ~match.busy & ~self.looks),
                self.waits.eq(kept.o.valid),
                question.op.eq(MatchOp.SEEK),
                match.i.valid.eq(self.looks),
            ]
            with m.If(self.looks):
                m.next = "LOOK"
            with m.Elif(self.serve):
                m.d.sync += [self._at.eq(kept.o.payload), self._asks.eq(1)]
                m.next = "FETCH"
        with m.State("LOOK"):
            aside = self.message.envelope.aside
            m.d.comb += [self.work.valid.eq(self.sends), self.wanted.eq(0)]
            with m.If(match.o.valid):
                m.d.sync += [
                    self._found.eq((answer.outcome == Outcome.FOUND) & ~aside),
                    self._full.eq((answer.outcome == Outcome.FULL) | aside),
                    self._at.eq(Cat(Mux(aside, 0, answer.handle[:SLOT_BITS]), self._owner[: self._owner_bits])),
                ]
            with m.If(self.sends & self.work.ready):
                m.d.sync += self.status.eq(self.checked)
                m.next = "JUDGE"
            with m.Elif(match.o.valid & ~self.sends):
                m.next = "IDLE"

    def _send(self, m):
        """A message: it goes to a buffer, or to a record."""
        message, size, slot, match = self.message, self.message.size, self._kept.words, self._match
        fits, commits = Signal(), self._commits
        m.d.comb += fits.eq(
            self._found
            & slot.ask.placed
            & ~message.envelope.record
            & ~slot.offset[:2].any()
            & (size.length <= slot.ask.length + HEADER_BYTES)
        )
        m.d.comb += self.word_at.eq(Mux(self.own | fits, DATA_AT, RECORD_AT))
        with m.State("JUDGE"):
            m.d.comb += self.rewinds.eq(1)
            m.next = "RECORD"
            with m.If(fits):
                m.next = "PLACE"
            with m.If(self.status != Status.OK):
                m.next = "END"
            with m.Elif(self._bars.barred & ~message.again):
                m.d.sync += self.status.eq(Status.BEFORE)
                m.next = "END"
            with m.Elif(fits & (size.length == HEADER_BYTES)):  # there is nothing to move
                m.d.comb += commits.eq(1)
                m.next = "TELL"
        with m.State("PLACE"):
            m.d.comb += [self.work.valid.eq(1), self.own.eq(1)]
            with m.If(self.did.valid):
                m.d.comb += commits.eq(self.did.payload.status == Status.OK)
                m.next = "TELL"
                with m.If(~commits):
                    m.next = "REWIND"
        with m.State("REWIND"):  # the process may not write to its buffer
            m.d.comb += [self.rewinds.eq(1), self.word_at.eq(RECORD_AT)]
            m.next = "RECORD"
        with m.State("RECORD"):
            m.d.comb += [self.work.valid.eq(1), self.records.eq(1)]
            with m.If(self.did.valid):
                m.d.sync += [self.status.eq(self.did.payload.status), self.signals.eq(self.did.payload.signals)]
                m.next = "END"
                with m.If(self.did.payload.status == Status.OK):
                    m.d.comb += [commits.eq(~message.envelope.aside), self.recorded.eq(1)]
                    m.d.comb += self._numbers.write_en.eq(1)
                    with m.If(commits):
                        m.next = "JOIN"
        with m.State("JOIN"):
            with m.If(match.o.valid):
                m.d.comb += self.left.eq(match.o.payload.outcome == Outcome.FULL)
                m.next = "END"

    def _answer(self, m):
        """Answer what a process has asked in a slot."""
        match, asked, end = self._match, self._kept.words.ask.ask, self._end
        question, outcome = match.i.payload, match.o.payload.outcome
        mine = self._overflows
        with m.State("FETCH"):
            m.next = "ASK"
        with m.State("ASK"):
            m.d.comb += [self.asked.eq(1), question.op.eq(asked)]
            m.d.sync += [end.eq(End.NONE), self._messages.eq(0)]
            m.next = "TELL"
            with m.Switch(asked):
                with m.Case(*ASKED):
                    m.d.comb += match.i.valid.eq(1)
                    m.next = "ANSWER"
                with m.Case(Ask.RESUME):
                    with m.If(self._count == self._kept.words.offset[:TAKEN_BITS]):
                        m.d.sync += [end.eq(End.DONE), mine.eq(0)]
                with m.Case(Ask.RESET):
                    m.next = "DROP"
        with m.State("ANSWER"):
            looks_only = (asked == Ask.PROBE) | (asked == Ask.TAKE)
            m.d.sync += self._number.eq(match.o.payload.handle)
            with m.If(match.o.valid):
                m.next = "TELL"
                with m.Switch(outcome):
                    with m.Case(Outcome.FOUND):
                        m.d.sync += end.eq(Mux(asked == Ask.CANCEL, End.DONE, End.RECORD))
                    with m.Case(Outcome.FULL):
                        m.d.sync += [end.eq(End.FULL), mine.eq(1)]
                    with m.Case(Outcome.JOINED):
                        m.next = "END"
                    with m.Case(Outcome.NONE):
                        m.d.sync += end.eq(Mux(looks_only & mine, End.FULL, End.NONE))
        with m.State("DROP"):
            m.d.comb += match.i.valid.eq(1)
            m.d.comb += question.op.eq(Mux(self._messages, MatchOp.DROP_MESSAGE, MatchOp.DROP_RECEIVE))
            m.next = "DROPPED"
        with m.State("DROPPED"):
            with m.If(match.o.valid):
                m.next = "DROP"
                with m.If(outcome != Outcome.FOUND):
                    m.d.sync += self._messages.eq(1)
                    with m.If(self._messages):
                        m.d.comb += self._numbers.write_en.eq(1)
                        m.d.sync += [mine.eq(0), end.eq(End.DONE)]
                        m.next = "TELL"
