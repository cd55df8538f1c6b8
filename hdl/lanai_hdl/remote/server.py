"""Serves packets and ends commands. All that the adapter writes to host memory is written here."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BurstPort
from .atomics import AtomicUnit, FoundNumber
from .bounded_burst import BoundedBurst
from .cleared_memory import ClearedMemory
from .command_queue import BUFFER_BITS, COMMAND_BITS
from .completion import Completion
from .entries import RequestEntry, reply_shape
from .fifo import CONTROL_FIELDS
from .fifo_append import FifoAppend
from .fifo_words import FifoWords
from .host_side import CommandRead
from .links import LinkPort
from .lookup_port import OFFSET_BITS, LookupPort
from .memory_mover import MemoryMover
from .packet_buffers import packet_members
from .packet_check import PacketCheck
from .packet_header import MOST_WORDS, PacketHeader
from .packets import BOOT_BITS, REQUEST_WORDS, SESSION_BITS, Op, Status, conditional, fails_bound, relaxed
from .parameters import RemoteParameters
from .receive_order import ReceiveOrder
from .sequencer import INDEX_BITS, EntryRead
from .server_access import Step, Work, ask
from .tables import START
from .write_data import WriteData

EVENTS = ("served", "atomic", "refused", "duplicate", "ahead", "stale", "malformed", "no_room", "signalled")


class PacketServer(PacketCheck, MemoryMover, Completion, wiring.Component):
    """One thing at a time: a packet, or the end of a request. It waits for host memory and for
    nothing else.

    A request that finds no space for its reply is dropped: its sender will send it again. So what
    arrives never waits for what is to be sent.

    Members
    -------
    full, words, arriving, come, release, index, word : of `PacketBuffers`
    lookup, bus : its ways to host memory
    replies : ``Out(stream)``
    answered, answered_run, resolve, resolution, ended, oldest, oldest_status, retire, left, left_peer : of
        `Sequencer`; its `again` is `links.learn`
    links : of `Links`
    own_session, own_boot : ``In``, of this NIC
    command : ``Out(CommandRead())``; ``free``, ``freed``: the command of this buffer has ended
    failing : ``Out(1)``, of the requests of the oldest command of process `owner` one has been refused;
        within the slot
    answered_store : ``Out(1)``, the stores of request `oldest` have ended; answered_load : the load,
        whose word is `loaded`
    enable : ``In(1)``; without it every packet is dropped
    changed : ``In(1)``, a page or an exposure of any process is written
    served, atomic, ... : ``Out(1)``, a slot's events, as the counters of these names
    busy : ``Out(1)``, a packet is served or a command ended
    ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                **{name: member.flip() for name, member in packet_members(config).items()},
                "lookup": Out(LookupPort()),
                "bus": Out(BurstPort()),
                "replies": Out(stream.Signature(reply_shape(config))),
                "answered": Out(EntryRead()),
                **({"answered_run": In(INDEX_BITS)} if config.quiet else {}),
                "resolve": Out(1),
                "resolution": Out(Status),
                "ended": In(1),
                "oldest": In(RequestEntry),
                "oldest_status": In(Status),
                "retire": Out(1),
                "left": Out(1),
                "left_peer": Out(8),
                "links": Out(LinkPort()),
                "own_session": In(SESSION_BITS),
                "own_boot": In(BOOT_BITS),
                "command": Out(CommandRead()),
                "free": Out(1),
                "freed": Out(BUFFER_BITS),
                "owner": In(range(max(self.config.processes, 2))),  # not `process`: a class in SystemVerilog
                "failing": Out(1),
                "answered_store": Out(1),
                "answered_load": Out(1),
                "loaded": Out(32),
                "enable": In(1),
                "changed": In(1),
                **{name: Out(1) for name in EVENTS},
                "ready_next": Out(1),
                "busy": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = self._order = ReceiveOrder(self.config)
        m.submodules.worst = self._worst = ClearedMemory(Status, self.config.processes, reads=2)
        m.submodules.found = self._found = FoundNumber()
        m.submodules.unit = self._unit = AtomicUnit()
        m.submodules.write_data = self._write_data = WriteData()
        m.submodules.append = self._append = FifoAppend(self.config)
        m.submodules.fifo_words = self._fifo_words = FifoWords()
        m.submodules.run = self._run = BoundedBurst()
        self._registers()
        self._connect(m)
        self._connect_fifo(m)
        self._join(m)
        self._packet.register_appends(m, self.config)
        entry = self.answered.entry
        self._packet.register_answer(m, self.answered.open, entry)
        m.d.sync += self._well.eq(self.oldest_status == Status.OK)
        ask(m, self.lookup, self._work, self._step, self._packet, self._append, entry, self.oldest, self._well)
        self._reply(m)
        m.d.comb += [self.busy.eq(1), self.lookup.wanted.eq(1)]
        with m.FSM():
            self._serve(m)
            self._locate(m)
            self._read(m)
            self._write(m)
            self._end_command(m)
        return m

    def _registers(self):
        self._packet = PacketHeader()
        self._work = Signal(Work)
        self._step = Signal(Step)
        self._status = Signal(Status)  # of the work under way
        self._left = Signal(range(len(CONTROL_FIELDS)))  # words to read behind this one
        self._locating = Signal()  # the answer of the lookup is awaited
        self._tail_follows = Signal()  # on the write under way
        self._failed = Signal()  # one of them was refused
        self._little = Signal()  # of the exposure that an ATOMIC changes
        self._signals = Signal()  # of the exposure that is accessed
        self._asked = Signal()  # an open request waited for the packet, a reply, in the slot before
        self._leaves = Signal()  # the packet, a reply, says that its sender is not in the session's boot
        self._newest = Signal()  # the packet, a reply, answers no older request than the last one did
        self._relaxed = Signal()  # the packet, a request, may take effect out of turn
        self._catching_up = Signal()  # of the order, in the slot before: the packet's place does not stand yet
        self._apart = Signal()  # an APPEND's record and its FIFO's control words lie in different pages
        self._result = Signal(64)  # of the ATOMIC that was answered last: no two are outstanding
        self._well = Signal()  # the oldest request ended well, as of the slot before
        self._at = Signal.like(self.index)
        self._from_packet = Signal()  # the words to write are the packet's
        self._turn = Signal()  # the end of a command is next, if one has ended

    def _connect(self, m):
        """Packet and command to the units that work on them."""
        packet, order, links = self._packet, self._order, self.links
        found, unit, write_data = self._found, self._unit, self._write_data
        first = packet.first
        m.d.comb += [
            self.ready_next.eq(order.ready_next & self._worst.ready_next),
            links.source.eq(first.source),
            links.sequence.eq(first.sequence),
            links.answer.eq(self.resolve & self._newest),
            links.boot.eq(packet.answer.own_boot),
            links.kept.eq(packet.answer.kept),
            links.keeps.eq(packet.answer.keeps),
            self.left_peer.eq(first.source),
            order.source.eq(first.source),
            order.session.eq(packet.target.session),
            order.boot.eq(packet.size.boot),
            order.own_session.eq(self.own_session),
            order.own_boot.eq(self.own_boot),
            order.sequence.eq(first.sequence),
            order.owner.eq(packet.size.process),
            order.outcome.eq(self._status),
            order.mark.eq(fails_bound(first.op, packet.size.atomic, self._status)),
            order.unmark.eq(conditional(first.op, packet.size.atomic)),
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
            write_data.number.eq(unit.new),
            write_data.wide.eq(packet.wide),
            write_data.little.eq(self._little),
            write_data.result.eq(self._result),
            write_data.left.eq(self._run.left),
            self.answered.index.eq(packet.answer.entry),
            self.freed.eq(self.oldest.buffer),
            self._worst.read(0)[0].eq(self.oldest.buffer[COMMAND_BITS:]),
            self._worst.write_addr.eq(self.oldest.buffer[COMMAND_BITS:]),
            self._worst.read(1)[0].eq(self.owner),
            self.failing.eq(self._worst.read(1)[1] != Status.OK),
            self.command.buffer.eq(self.oldest.buffer),
            self.command.field.eq(START),
            self.index.eq(self._at),
        ]

    def _connect_fifo(self, m):
        """The FIFO of an APPEND, from its control words to what becomes of them."""
        packet, append, words = self._packet, self._append, self._fifo_words
        m.d.comb += [
            words.exposure.eq(packet.target.exposure),
            words.offset.eq(packet.offset),
            words.field.eq(len(CONTROL_FIELDS) - 1 - self._left),
            words.word.eq(self.bus.read.payload.data),
            words.new_tail.eq(append.new_tail),
            append.tail.eq(words.tail),
            append.head.eq(words.head),
            append.ring.eq(words.ring),
            append.length.eq(packet.size.length),
            append.retry.eq(packet.first.op == Op.RETRY),
            append.barred.eq(conditional(packet.first.op, packet.size.atomic) & self._order.marked),
        ]
        # Registered: the control words come late in their slot, and have stood for long when it is used.
        m.d.sync += self._apart.eq(append.offset[OFFSET_BITS:] != packet.offset[OFFSET_BITS:])
        with m.If(self.changed):
            m.d.comb += words.forget.eq(1)

    def _serve(self, m):
        """A packet: its words are taken, as they arrive if nothing else is to be done; its form is
        checked, and it is judged. The lookup begins with the check."""
        packet = self._packet
        arrived = Signal.like(self.index)
        well_formed, looks = Signal(), Signal()
        settled = self._settle(m, arrived)
        m.d.sync += [arrived.eq(self.index), self._catching_up.eq(self._order.catching_up)]
        with m.State("IDLE"):
            m.d.comb += [self.idle.eq(~self.full & ~self.ended & ~self.arriving), self.busy.eq(0)]
            m.d.comb += self._fifo_words.begin.eq(1)
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
            has_room = self._fifo_words.known & ~self._append.full
            m.d.sync += [self._status.eq(Status.OK), self._step.eq(Mux(has_room, Step.RECORD, Step.CONTROL))]
            packet.take(m, arrived, self.word)
            with m.If(here & (self._at != MOST_WORDS)):
                m.d.sync += self._at.eq(self._at + 1)
            with m.If(self.full):
                taken = (self._at >= self.words) | (self._at == MOST_WORDS)
                with m.If(taken & (settled | ~packet.appends) & ~self._catching_up):
                    m.d.sync += self._work.eq(Mux(packet.is_reply(), Work.REPLY, Work.REQUEST))
                    m.next = "FORM"
            with m.Elif(self.ended | ~self.arriving | (self.come < self._at)):
                m.next = "IDLE"
        with m.State("FORM"):
            answers = self.answered
            sound = packet.well_formed(self.config, self.words, answers.open, answers.entry)
            # In WORDS, `full` may have been that of the FIFO before: it stands a slot after `settled`.
            late = packet.appends & (self._step == Step.RECORD) & self._append.full
            m.d.comb += self.lookup.start.eq(packet.accesses(self.config, answers.entry) & ~late)
            m.d.sync += [well_formed.eq(sound & self.enable), looks.eq(self.lookup.start), self._turn.eq(1)]
            m.d.sync += [self._asked.eq(self._is_asked(m)), self._leaves.eq(self._says_other_boot())]
            m.d.sync += self._newest.eq(~(packet.first.sequence - self.links.answered)[15])
            m.d.sync += self._relaxed.eq(relaxed(packet.first.op, packet.size.atomic))
            self._store_tail(m)
            m.next = "JUDGE"
            with m.If(late):
                m.next = "WORDS"
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

    def _settle(self, m, arrived):
        """Return 1 if the answers for the FIFO of an APPEND are valid in the next slot: its offset was
        taken three slots ago, or before."""
        offset_taken, before = (arrived >= REQUEST_WORDS) & (arrived <= MOST_WORDS), Signal(2)
        m.d.sync += before.eq(Mux(offset_taken, Cat(1, before[0]), 0))
        return offset_taken & before.all()

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
            run.words.payload.eq(Mux(self._from_packet, self.word, self._write_data.word)),
        ]
        with m.If(run.words.ready & self._from_packet):  # the packet's next word stands on `word` in the next slot
            m.d.comb += self.index.eq(at + 1)
            m.d.sync += at.eq(at + 1)
