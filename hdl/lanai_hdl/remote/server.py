"""Serves packets as they have come, and ends commands: all that the adapter writes to host memory
is written here."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BurstPort
from .access import Step, Work, ask
from .allowed import AllowedRun
from .append import Append
from .arrivals import packet_members
from .atomics import AtomicUnit, FoundNumber
from .cleared import ClearedMemory
from .ending import Ending
from .entry import Entry
from .fifo import CONTROL_FIELDS
from .judging import Judging
from .lookup import LookupPort
from .order import ReceiveOrder
from .packets import REPLY_WORDS, REQUEST_WORDS, Op, Status
from .parameters import RemoteParameters
from .reply import Reply
from .sequencer import EntryRead
from .served import MOST_WORDS, ServedPacket
from .tables import START
from .window import BUFFER_BITS, CommandRead
from .written import WrittenWords

EVENTS = ("served", "atomic", "refused", "duplicate", "ahead", "stale", "malformed", "no_room")


class PacketServer(Judging, Ending, wiring.Component):
    """One thing at a time: a packet, or the end of a request. It waits for host memory and for
    nothing else.

    A request that finds no room for its reply is dropped: its sender will send it again. So what
    arrives never waits for what is to be sent.

    Members
    -------
    full, words, arriving, come, release, index, word : of `Arrivals`
    lookup, bus : its ways to host memory
    replies : ``Out(stream)``
    answered, resolve, resolution, ended, oldest, oldest_status, retire : of `Sequencer`
    command : ``Out(CommandRead())``; ``free``, ``freed``: the command of this buffer has ended
    answered_store : ``Out(1)``, the stores of request `oldest` have ended
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
                "answered_store": Out(1),
                "enable": In(1),
                **{name: Out(1) for name in EVENTS},
                "ready": Out(1),
                "busy": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = self._order = ReceiveOrder(self.config)
        m.submodules.answers = self._answers = ClearedMemory(16, self.config.peers)
        m.submodules.found = self._found = FoundNumber()
        m.submodules.unit = self._unit = AtomicUnit()
        m.submodules.written = self._written = WrittenWords()
        m.submodules.append = self._append = Append(self.config)
        m.submodules.run = self._run = AllowedRun()
        self._registers()
        self._connect(m)
        self._join(m)
        self._packet.tell_appends(m)
        entry = self.answered.entry
        ask(m, self.lookup, self._work, self._step, self._packet, self._append, entry, self.oldest)
        self._reply(m)
        m.d.comb += self.busy.eq(1)
        with m.FSM():
            self._serve(m)
            self._locate(m)
            self._read(m)
            self._write(m)
            self._end_command(m)
        return m

    def _registers(self):
        self._packet = ServedPacket()
        self._work = Signal(Work)
        self._step = Signal(Step)
        self._status = Signal(Status)  # of the work under way
        self._worst = Signal(Status)  # of the command's requests
        self._left = Signal(range(len(CONTROL_FIELDS)))  # words to read behind this one
        self._locating = Signal()  # the answer of the lookup is awaited
        self._failed = Signal()  # one of them was refused
        self._little = Signal()  # of the exposure that an ATOMIC changes
        self._result = Signal(64)  # of the ATOMIC that was answered last: no two are outstanding
        self._at = Signal.like(self.index)
        self._from_packet = Signal()  # the words to write are the packet's
        self._turn = Signal()  # the end of a command is next, if one has ended

    def _connect(self, m):
        """Packet and command to the units that work on them."""
        packet, order, answers, append = self._packet, self._order, self._answers, self._append
        found, unit, written = self._found, self._unit, self._written
        first = packet.first
        m.d.comb += [
            self.ready.eq(order.ready & answers.ready),
            answers.read(0)[0].eq(first.source),
            answers.write_addr.eq(first.source),
            answers.write_data.eq(first.sequence + 1),
            answers.write_en.eq(self.resolve),
            order.source.eq(first.source),
            order.sequence.eq(first.sequence),
            order.outcome.eq(self._status),
            order.atomic.eq(first.op == Op.ATOMIC),
            order.result.eq(found.value),
            found.wide.eq(packet.wide),
            found.little.eq(self._little),
            found.word.eq(self.bus.read.payload.data),
            unit.wide.eq(packet.wide),
            unit.op.eq(packet.size.atomic),
            unit.operand.eq(packet.operand),
            unit.comparand.eq(packet.comparand),
            unit.old.eq(found.value),
            written.number.eq(unit.new),
            written.wide.eq(packet.wide),
            written.little.eq(self._little),
            written.result.eq(self._result),
            written.left.eq(self._run.left),
            append.word.eq(self.bus.read.payload.data),
            append.length.eq(packet.size.length),
            append.retry.eq(first.op == Op.RETRY),
            self.answered.index.eq(packet.answer.entry),
            self.freed.eq(self.oldest.buffer),
            self.command.buffer.eq(self.oldest.buffer),
            self.command.field.eq(START),
            self.index.eq(self._at),
        ]

    def _serve(self, m):
        """A packet: its words are taken, as they arrive if nothing else is to be done; its form is
        checked, and it is judged. The lookup begins with the check."""
        packet = self._packet
        arrived = Signal.like(self.index)
        well_formed, looks = Signal(), Signal()
        m.d.sync += arrived.eq(self.index)
        with m.State("IDLE"):
            m.d.comb += [self.idle.eq(~self.full & ~self.ended & ~self.arriving), self.busy.eq(0)]
            m.d.sync += [self._at.eq(0), self._work.eq(Work.FLAG)]
            with m.If(self.full & ~(self._turn & self.ended)):
                m.d.sync += self._turn.eq(1)
                m.next = "WORDS"
            with m.Elif(self.ended):
                m.next = "END"
            with m.Elif(self.arriving):
                m.next = "WORDS"
        with m.State("WORDS"):
            here = self.full | (self._at < self.come)  # the word that is asked for
            m.d.comb += self.busy.eq(0)
            m.d.sync += [self._status.eq(Status.OK), self._step.eq(Step.CONTROL)]
            packet.take(m, arrived, self.word)
            with m.If(here & (self._at != MOST_WORDS)):
                m.d.sync += self._at.eq(self._at + 1)
            with m.If(self.full):
                with m.If((self._at >= self.words) | (self._at == MOST_WORDS)):
                    m.d.sync += self._work.eq(Mux(packet.is_reply(), Work.REPLY, Work.REQUEST))
                    m.next = "FORM"
            with m.Elif(self.ended | ~self.arriving | (self.come < self._at)):
                m.next = "IDLE"
        with m.State("FORM"):
            answers = self.answered
            sound = packet.well_formed(self.config, self.words, answers.open, answers.entry)
            m.d.comb += self.lookup.start.eq(packet.accesses(answers.entry))
            m.d.sync += [well_formed.eq(sound & self.enable), looks.eq(self.lookup.start), self._turn.eq(1)]
            m.next = "JUDGE"
        with m.State("JUDGE"):
            m.next = "IDLE"
            with m.If(looks):
                m.next = "REFUSE"
            with m.If(~well_formed):
                m.d.comb += [self.malformed.eq(1), self.release.eq(1)]
            with m.Elif(packet.is_reply()):
                self._judge_reply(m)
            with m.Else():
                self._judge_request(m)
        with m.State("REFUSE"):  # the lookup that has begun is not wanted
            with m.If(self.lookup.done):
                m.next = "IDLE"
                with m.If(self._status != Status.OK):
                    m.next = "DONE"

    def _locate(self, m):
        """Where in host memory the work under way takes place."""
        of_request = self._work == Work.REQUEST
        of_append = of_request & self._packet.appends
        with m.State("LOOKUP"):
            m.d.comb += [self.lookup.start.eq(1), self._locating.eq(1)]
            m.d.sync += self._little.eq(self.lookup.little)
            with m.If(self.lookup.done):
                with m.If((self._status != Status.FULL) | (self.lookup.status != Status.OK)):
                    m.d.sync += self._status.eq(self.lookup.status)
                m.next = "WRITE"
                with m.If(self.lookup.status != Status.OK):
                    m.next = "DONE"
                with m.Elif(of_request & self._reads_first()):
                    m.next = "READ"
            m.d.sync += [
                self._from_packet.eq((self._work != Work.FLAG) & ~(of_append & (self._step == Step.TAIL))),
                self._at.eq(Mux(of_request & ~self._packet.appends, REQUEST_WORDS, REPLY_WORDS)),
                self._left.eq(Mux(self._packet.appends, len(CONTROL_FIELDS) - 1, self._packet.wide)),
                self._failed.eq(0),
            ]

    def _read(self, m):
        """What the memory holds: the word of an ATOMIC, the control words of a FIFO."""
        with m.State("READ"):
            m.d.comb += [self._run.read.eq(1), self._found.begin.eq(1)]
            with m.If(self._run.begun):
                m.next = "OLD"
        with m.State("OLD"):
            m.d.comb += [
                self.bus.read.ready.eq(1),
                self._append.take.eq(self.bus.read.valid),
                self._found.take.eq(self.bus.read.valid),
            ]
            m.d.sync += self._from_packet.eq(0)
            with m.If(self.bus.read.valid):
                m.d.sync += [
                    self._left.eq(self._left - 1),
                    self._failed.eq(self._failed | self.bus.read.payload.error),
                ]
                with m.If(self._left == 0):
                    m.next = "NEW"
                    with m.If(self._packet.appends):
                        m.next = "COUNT"
                    with m.If(self._failed | self.bus.read.payload.error):
                        m.d.sync += self._status.eq(Status.BUS)
                        m.next = "DONE"
        with m.State("COUNT"):
            m.next = "FIT"
        with m.State("FIT"):
            m.next = "PLACE"
        with m.State("PLACE"):
            m.d.comb += [self._written.store_word.eq(1), self._written.number.eq(self._append.tail)]
            m.d.sync += self._step.eq(Step.RECORD)
            with m.If(self._append.full):
                m.d.sync += [self._status.eq(Status.FULL), self._step.eq(Step.TAIL)]
            m.next = "LOOKUP"
        with m.State("NEW"):
            m.d.comb += [self._written.store_number.eq(1), self.atomic.eq(1)]
            m.next = "WRITE"

    def _write(self, m):
        """The words are written, and what comes of it is told."""
        with m.State("WRITE"):
            m.d.comb += self._run.write.eq(1)
            with m.If(self._run.begun):
                m.next = "MOVE"
        with m.State("MOVE"):
            with m.If(self._run.done):
                with m.If(self._run.bad):
                    m.d.sync += self._status.eq(Status.BUS)
                m.next = "DONE"
        with m.State("DONE"):
            m.next = "IDLE"
            m.d.comb += self.release.eq(self._work != Work.FLAG)
            with m.Switch(self._work):
                with m.Case(Work.REQUEST):
                    with m.If(self._packet.appends & (self._step == Step.RECORD) & (self._status == Status.OK)):
                        m.d.sync += self._step.eq(Step.TAIL)
                        m.d.comb += self.release.eq(0)
                        m.next = "LOOKUP"
                    with m.Else():
                        m.d.comb += [
                            self.refused.eq(self._status != Status.OK),
                            self.served.eq(self._status == Status.OK),
                        ]
                        self._finish(m)
                with m.Case(Work.REPLY):
                    m.d.comb += [self.resolve.eq(1), self.resolution.eq(self._status)]
                with m.Case(Work.FLAG):
                    m.d.comb += [self.retire.eq(1), self.free.eq(1), self.refused.eq(self._status != Status.OK)]
                    m.d.sync += self._worst.eq(Status.OK)

    def _join(self, m):
        """The burst port is the run's; `_read` takes what a read brings."""
        bus, lookup, run, at = self.bus, self.lookup, self._run, self._at
        wiring.connect(m, run.burst, wiring.flipped(bus.burst))
        wiring.connect(m, run.data, wiring.flipped(bus.write))
        m.d.comb += [
            run.located.eq(lookup.done & self._locating),
            run.allowed.eq(lookup.status == Status.OK),
            run.address.eq(lookup.address),
            run.length.eq(lookup.length),
            run.written.eq(bus.written),
            run.refused.eq(bus.refused),
            run.words.valid.eq(1),
            run.words.payload.eq(Mux(self._from_packet, self.word, self._written.word)),
        ]
        with m.If(run.words.ready & self._from_packet):  # the packet's next word stands on `word` in the next slot
            m.d.comb += self.index.eq(at + 1)
            m.d.sync += at.eq(at + 1)

    def _reads_first(self):
        """What the request does depends on what the memory holds."""
        return (self._packet.first.op == Op.ATOMIC) | (self._packet.appends & (self._step == Step.CONTROL))
