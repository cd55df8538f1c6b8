"""Serves packets as they have come, and ends commands: all that the adapter writes to host memory
is written here."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BurstPort
from .append import Append
from .arrivals import packet_members
from .atomics import AtomicUnit
from .cleared import ClearedMemory
from .entry import Entry
from .fifo import CONTROL_BYTES, CONTROL_FIELDS, RECORD_HEADER
from .lookup import LookupPort, Need
from .order import Place, ReceiveOrder
from .packets import (
    MARK,
    REPLY_WORDS,
    REQUEST_WORDS,
    Atomic,
    Op,
    ReplyWord,
    RequestWord,
    SizeWord,
    Status,
    TargetWord,
    appends,
)
from .parameters import RemoteParameters
from .reply import Reply
from .sequencer import EntryRead
from .tables import FLAG_AT, FLAG_BYTES, START, TAG_BITS, FlagWord
from .window import BUFFER_BITS, COMMAND_BITS, CommandRead
from .writer import MemoryWriter

ATOMIC_WORDS = REQUEST_WORDS + 2
RECORD_AT = REQUEST_WORDS - RECORD_HEADER // 4  # a record is the packet from its `SizeWord` on
assert RECORD_AT == REPLY_WORDS  # so that one mux has both


class Work(enum.Enum, shape=2):
    """What the memory access under way is for."""

    REQUEST = 0
    REPLY = 1
    FLAG = 2  # a command's end


class Step(enum.Enum, shape=2):
    """Of an APPEND: what is accessed."""

    CONTROL = 0  # the control words are read
    RECORD = 1  # the record is written
    TAIL = 2  # the tail word is written, and is what the process waits for


EVENTS = ("served", "atomic", "refused", "duplicate", "ahead", "stale", "malformed", "no_room")


class PacketServer(wiring.Component):
    """One thing at a time: a packet, or the end of a request. It waits for host memory and for
    nothing else.

    A request that finds no room for its reply is dropped: its sender will send it again. So what
    arrives never waits for what is to be sent.

    Members
    -------
    full, words, release, index, word : of `Arrivals`
    lookup, bus : its ways to host memory
    replies : ``Out(stream)``
    answered, resolve, resolution, ended, oldest, oldest_status, retire : of `Sequencer`
    command : ``Out(CommandRead())``; ``free``, ``freed``: the command of this buffer has ended
    enable : ``In(1)``; without it every packet is dropped
    served, atomic, ... : ``Out(1)``, a slot's events, as the counters of these names
    busy : ``Out(1)``, a packet is served or a command ended
    ready, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                **{name: member.flip() for name, member in packet_members(config).items()},
                "lookup": Out(LookupPort()),
                "bus": Out(BurstPort()),
                "replies": Out(stream.Signature(Reply)),
                "answered": Out(EntryRead()),
                "resolve": Out(1),
                "resolution": Out(Status),
                "ended": In(1),
                "oldest": In(Entry),
                "oldest_status": In(Status),
                "retire": Out(1),
                "command": Out(CommandRead()),
                "free": Out(1),
                "freed": Out(BUFFER_BITS),
                "enable": In(1),
                **{name: Out(1) for name in EVENTS},
                "ready": Out(1),
                "busy": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = self._order = order = ReceiveOrder(self.config)
        m.submodules.answers = self._answers = answers = ClearedMemory(16, self.config.peers)
        m.submodules.unit = unit = AtomicUnit()
        m.submodules.append = self._append = append = Append(self.config)
        self._appends = Signal()  # the request is one for a FIFO
        step = Signal(Step)
        left = Signal(range(len(CONTROL_FIELDS)))  # words to read behind this one
        failed = Signal()  # one of them was refused
        m.submodules.writer = writer = MemoryWriter()
        self._first, self._target = first, target = Signal(RequestWord), Signal(TargetWord)
        self._size, self._offset = Signal(SizeWord), Signal(32)
        self._answer = ReplyWord(target.as_value())
        operand, comparand, old, value = Signal(32), Signal(32), Signal(32), Signal(32)
        result = Signal(32)  # of the ATOMIC that was answered last: no two are outstanding
        flag_sent = Signal()  # the result has gone to memory, its flag goes next
        work, status, worst = Signal(Work), Signal(Status), Signal(Status)
        at, arriving = Signal.like(self.index), Signal.like(self.index)
        from_packet = Signal()  # the words to write are the packet's
        reading, turn, well_formed = Signal(), Signal(), Signal()
        entry = self.answered.entry
        m.d.sync += arriving.eq(self.index)
        m.d.comb += [
            self.ready.eq(order.ready & answers.ready),
            answers.read(0)[0].eq(first.source),
            answers.write_addr.eq(first.source),
            answers.write_data.eq(first.sequence + 1),
            answers.write_en.eq(self.resolve),
            order.source.eq(first.source),
            order.sequence.eq(first.sequence),
            order.outcome.eq(status),
            order.atomic.eq(first.op == Op.ATOMIC),
            order.result.eq(unit.value),
            unit.op.eq(self._size.atomic),
            unit.operand.eq(operand),
            unit.comparand.eq(comparand),
            unit.old.eq(old),
            append.word.eq(self.bus.read.payload.data),
            append.length.eq(self._size.length),
            append.retry.eq(first.op == Op.RETRY),
            self.answered.index.eq(self._answer.entry),
            self.freed.eq(self.oldest.buffer),
            self.command.buffer.eq(self.oldest.buffer),
            self.command.field.eq(START),
            self.index.eq(at),
        ]
        self._join(m, writer, from_packet, reading, at)
        m.d.sync += self._appends.eq(appends(first.op))
        self._ask(m, work, entry, step)
        self._reply(m, status, unit)

        m.d.comb += self.busy.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.idle.eq(~self.full & ~self.ended), self.busy.eq(0)]
                m.d.sync += at.eq(0)
                with m.If(self.full & ~(turn & self.ended)):
                    m.d.sync += turn.eq(1)
                    m.next = "WORDS"
                with m.Elif(self.ended):
                    m.d.sync += turn.eq(0)
                    m.next = "END"
            with m.State("WORDS"):
                self._take_words(m, at, arriving, operand, comparand)
                last = Mux(self._is_reply(), REPLY_WORDS, ATOMIC_WORDS - 1)
                with m.If((arriving >= last) & (at == arriving + 1)):
                    m.next = "FORM"
            with m.State("FORM"):
                m.d.sync += well_formed.eq(self._well_formed(entry) & self.enable)
                m.d.sync += [status.eq(Status.OK), step.eq(Step.CONTROL)]
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.next = "RELEASE"
                with m.If(~well_formed):
                    m.d.comb += self.malformed.eq(1)
                with m.Elif(self._is_reply()):
                    self._judge_reply(m, entry, work, result)
                with m.Else():
                    self._judge_request(m, work, status)
            with m.State("LOOKUP"):
                m.d.comb += self.lookup.start.eq(1)
                m.d.sync += unit.little.eq(self.lookup.little)
                with m.If(self.lookup.done):
                    with m.If((status != Status.FULL) | (self.lookup.status != Status.OK)):
                        m.d.sync += status.eq(self.lookup.status)
                    m.next = "WRITE"
                    with m.If(self.lookup.status != Status.OK):
                        m.next = "DONE"
                    with m.Elif((work == Work.REQUEST) & self._reads_first(step)):
                        m.next = "READ"
                m.d.sync += writer.run.payload.address.eq(self.lookup.address)
                m.d.sync += writer.run.payload.length.eq(self.lookup.length)
                of_append = (work == Work.REQUEST) & self._appends
                m.d.sync += [
                    from_packet.eq((work != Work.FLAG) & ~(of_append & (step == Step.TAIL))),
                    flag_sent.eq(0),
                    at.eq(Mux((work == Work.REQUEST) & ~self._appends, REQUEST_WORDS, REPLY_WORDS)),
                    left.eq(Mux(self._appends, len(CONTROL_FIELDS) - 1, 0)),
                    failed.eq(0),
                ]
            with m.State("READ"):
                m.d.comb += reading.eq(1)
                with m.If(self.bus.burst.ready):
                    m.next = "OLD"
            with m.State("OLD"):
                m.d.comb += [self.bus.read.ready.eq(1), append.take.eq(self.bus.read.valid)]
                m.d.sync += [old.eq(self.bus.read.payload.data), from_packet.eq(0)]
                with m.If(self.bus.read.valid):
                    m.d.sync += [left.eq(left - 1), failed.eq(failed | self.bus.read.payload.error)]
                    with m.If(left == 0):
                        m.next = "NEW"
                        with m.If(self._appends):
                            m.next = "COUNT"
                        with m.If(failed | self.bus.read.payload.error):
                            m.d.sync += status.eq(Status.BUS)
                            m.next = "DONE"
            with m.State("COUNT"):
                m.next = "FIT"
            with m.State("FIT"):
                m.next = "PLACE"
            with m.State("PLACE"):
                m.d.sync += [value.eq(append.tail), step.eq(Step.RECORD)]
                with m.If(append.full):
                    m.d.sync += [status.eq(Status.FULL), step.eq(Step.TAIL)]
                m.next = "LOOKUP"
            with m.State("NEW"):
                m.d.sync += value.eq(unit.new)
                m.d.comb += self.atomic.eq(1)
                m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += writer.run.valid.eq(1)
                with m.If(writer.run.ready):
                    m.next = "MOVE"
            with m.State("MOVE"):
                with m.If(writer.done):
                    with m.If(writer.bad):
                        m.d.sync += status.eq(Status.BUS)
                    m.next = "DONE"
            with m.State("DONE"):
                m.next = "RELEASE"
                with m.Switch(work):
                    with m.Case(Work.REQUEST):
                        with m.If(self._appends & (step == Step.RECORD) & (status == Status.OK)):
                            m.d.sync += step.eq(Step.TAIL)
                            m.next = "LOOKUP"
                        with m.Else():
                            m.d.comb += [self.refused.eq(status != Status.OK), self.served.eq(status == Status.OK)]
                            self._finish(m)
                    with m.Case(Work.REPLY):
                        m.d.comb += [self.resolve.eq(1), self.resolution.eq(status)]
                    with m.Case(Work.FLAG):
                        m.d.comb += [self.retire.eq(1), self.free.eq(1), self.refused.eq(status != Status.OK)]
                        m.d.sync += worst.eq(Status.OK)
                        m.next = "IDLE"
            with m.State("RELEASE"):
                m.d.comb += self.release.eq(1)
                m.next = "IDLE"
            with m.State("END"):
                m.d.sync += [work.eq(Work.FLAG), status.eq(Status.OK)]
                m.next = "TAG"
                with m.If(worst == Status.OK):
                    m.d.sync += worst.eq(self.oldest_status)
                with m.If(~self.oldest.last):
                    m.d.comb += self.retire.eq(1)
                    m.next = "IDLE"
            with m.State("TAG"):
                flag = Signal(FlagWord)
                m.d.comb += [flag.status.eq(worst), flag.tag.eq(self.command.data[:TAG_BITS])]
                m.d.sync += value.eq(flag)
                m.next = "LOOKUP"
        # Of an ATOMIC's two words the first is its result.
        first_of_two = (work == Work.FLAG) & (self.oldest.op == Op.ATOMIC) & ~flag_sent
        m.d.comb += writer.words.payload.eq(Mux(from_packet, self.word, Mux(first_of_two, result, value)))
        with m.If(writer.words.ready):
            m.d.sync += flag_sent.eq(1)
        return m

    def _take_words(self, m, at, arriving, operand, comparand):
        """The first words of the packet, whatever it is: those that it does not have are not
        used."""
        m.d.sync += at.eq(at + 1)
        kept = (self._first, self._target, self._size, self._offset, operand, comparand)
        with m.Switch(arriving):
            for n, register in enumerate(kept):
                with m.Case(n):
                    m.d.sync += register.eq(self.word)

    def _join(self, m, writer, from_packet, reading, at):
        """The burst port: the writer's, and for the word of an atomic a read burst of its own."""
        bus = self.bus
        m.d.comb += [
            bus.burst.valid.eq(writer.burst.valid | reading),
            bus.burst.payload.eq(writer.burst.payload),
            writer.burst.ready.eq(bus.burst.ready),
            bus.write.valid.eq(writer.write.valid),
            bus.write.payload.eq(writer.write.payload),
            writer.write.ready.eq(bus.write.ready),
            writer.written.eq(bus.written),
            writer.refused.eq(bus.refused),
            writer.words.valid.eq(1),
        ]
        with m.If(reading):
            m.d.comb += [
                bus.burst.payload.write.eq(0),
                bus.burst.payload.word.eq(writer.run.payload.address >> 2),
                bus.burst.payload.words.eq(Mux(self._appends, len(CONTROL_FIELDS), 1)),
            ]
        with m.If(writer.words.ready & from_packet):  # the packet's next word stands on `word` in the next slot
            m.d.comb += self.index.eq(at + 1)
            m.d.sync += at.eq(at + 1)

    def _reads_first(self, step):
        """What the request does depends on what the memory holds."""
        return (self._first.op == Op.ATOMIC) | (self._appends & (step == Step.CONTROL))

    def _ask(self, m, work, entry, step):
        lookup = self.lookup
        with m.Switch(work):
            with m.Case(Work.REQUEST):
                m.d.comb += [
                    lookup.owner.eq(self._target.exposure >> len(lookup.exposure)),
                    lookup.exposure.eq(self._target.exposure),
                    lookup.need.eq(Mux(self._first.op == Op.ATOMIC, Need.ATOMIC, Need.WRITE)),
                    lookup.key.eq(self._target.key),
                    lookup.offset.eq(self._offset),
                    lookup.length.eq(self._size.length),
                ]
                with m.If(self._appends):
                    m.d.comb += [lookup.need.eq(Need.APPEND), lookup.length.eq(CONTROL_BYTES)]
                    with m.If(step == Step.RECORD):
                        m.d.comb += [lookup.offset.eq(self._append.offset), lookup.length.eq(self._append.size)]
                    with m.If(step == Step.TAIL):
                        m.d.comb += lookup.length.eq(4)
            with m.Case(Work.REPLY):
                m.d.comb += [
                    lookup.owner.eq(entry.buffer >> COMMAND_BITS),
                    lookup.exposure.eq(entry.local),
                    lookup.need.eq(Need.OWN),
                    lookup.offset.eq(entry.local_offset),
                    lookup.length.eq(entry.length),
                ]
            with m.Case(Work.FLAG):
                atomic = self.oldest.op == Op.ATOMIC
                m.d.comb += [
                    lookup.owner.eq(self.oldest.buffer >> COMMAND_BITS),
                    lookup.need.eq(Need.FLAGS),
                    lookup.offset.eq(self.oldest.buffer[:COMMAND_BITS] * FLAG_BYTES + Mux(atomic, 0, FLAG_AT)),
                    lookup.length.eq(FLAG_BYTES - Mux(atomic, 0, FLAG_AT)),
                ]

    def _reply(self, m, status, unit):
        reply = self.replies.payload
        m.d.comb += [
            reply.peer.eq(self._first.source),
            reply.sequence.eq(self._first.sequence),
            reply.entry.eq(self._target.entry),
            reply.status.eq(status),
            reply.reads.eq(self._first.op == Op.READ),
            reply.returns.eq((self._first.op == Op.ATOMIC) & (status == Status.OK)),
            reply.value.eq(unit.value),
            reply.exposure.eq(self._target.exposure),
            reply.key.eq(self._target.key),
            reply.offset.eq(self._offset),
            reply.length.eq(self._size.length),
            reply.align.eq(self._size.align),
        ]

    def _is_reply(self):
        return (self._first.op == Op.ACK) | (self._first.op == Op.DATA)

    def _well_formed(self, entry):
        """The packet has the words that its op and length call for, and comes from a NIC that there
        may be."""
        length, payload = self._size.length, self.config.payload
        sized = (length != 0) & (length <= payload)
        data_words = (length + self._offset[:2] + 3) >> 2
        with_data = sized & (self.words == REQUEST_WORDS + data_words)
        answer_words = Mux(entry.op == Op.READ, (entry.length + entry.local_offset[:2] + 3) >> 2, 1)
        by_op = {
            Op.NOP: self.words == REQUEST_WORDS,
            Op.WRITE: with_data,
            Op.APPEND: with_data,
            Op.RETRY: with_data,
            Op.READ: sized & (self.words == REQUEST_WORDS),
            Op.ATOMIC: (length == 4)
            & (self.words == ATOMIC_WORDS)
            & (self._size.atomic.as_value() <= Atomic.XOR.value),
            Op.ACK: self.words == REPLY_WORDS,
            Op.DATA: ~self.answered.open | (self.words == REPLY_WORDS + answer_words),
        }
        fits = Cat((self._first.op == op) & condition for op, condition in by_op.items()).any()
        return fits & (self._first.mark == MARK) & (self._first.source < self.config.peers)

    def _judge_reply(self, m, entry, work, result):
        """Only what an open request of this sender waits for is taken: an ACK that a READ or ATOMIC
        succeeded is not.

        Answers are taken in the order of the requests. Otherwise the data of a READ that is
        repeated could overwrite those of a later READ into the same memory.
        """
        in_turn = self._answers.read(0)[1] == self._first.sequence
        asked = (
            self.answered.open & (entry.peer == self._first.source) & (entry.sequence == self._first.sequence) & in_turn
        )
        wants_data = (entry.op == Op.READ) | (entry.op == Op.ATOMIC)
        refuses = (self._answer.status != Status.OK) | ~wants_data
        with m.If(~asked):
            m.d.comb += self.stale.eq(1)
        with m.Elif((self._first.op == Op.ACK) & refuses):
            m.d.comb += [self.resolve.eq(1), self.resolution.eq(self._answer.status)]
        with m.Elif((self._first.op == Op.DATA) & (entry.op == Op.ATOMIC)):
            m.d.sync += result.eq(self._size.as_value())
            m.d.comb += self.resolve.eq(1)
        with m.Elif((self._first.op == Op.DATA) & (entry.op == Op.READ)):
            m.d.sync += work.eq(Work.REPLY)
            m.next = "LOOKUP"
        with m.Else():
            m.d.comb += self.malformed.eq(1)

    def _judge_request(self, m, work, status):
        m.d.sync += work.eq(Work.REQUEST)
        with m.If(~self.replies.ready):
            m.d.comb += self.no_room.eq(1)
        with m.Elif(self._order.place == Place.AHEAD):
            m.d.comb += self.ahead.eq(1)
        with m.Elif(self._order.place == Place.DUPLICATE):
            m.d.comb += [
                self.duplicate.eq(1),
                self.replies.valid.eq(1),
                self.replies.payload.status.eq(self._order.status),
                self.replies.payload.returns.eq((self._first.op == Op.ATOMIC) & (self._order.status == Status.OK)),
                self.replies.payload.value.eq(self._order.value),
            ]
        with m.Elif((self._first.op == Op.NOP) | (self._first.op == Op.READ)):
            m.d.comb += self.served.eq(1)
            self._finish(m)
        with m.Elif(((self._first.op == Op.ATOMIC) | self._appends) & (self._offset[:2] != 0)):
            m.d.sync += status.eq(Status.ALIGNMENT)
            m.next = "DONE"
        with m.Else():
            m.next = "LOOKUP"

    def _finish(self, m):
        """The next request of its sender has been carried out, or has failed for good."""
        m.d.comb += [self._order.accept.eq(1), self.replies.valid.eq(1)]
