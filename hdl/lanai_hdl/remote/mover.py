"""Moves words between packets and host memory: the one place that writes host memory for the adapter."""

from amaranth import Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BurstPort
from .access_work import FIFO_LEAD, FLAG_LEAD, AccessDone, AccessWork, FifoQuestion, Kind, Result
from .atomics import AtomicUnit, FoundNumber
from .bounded_burst import BoundedBurst
from .command_queue import BUFFER_BITS
from .fifo import CONTROL_BYTES, CONTROL_FIELDS
from .fifo_append import FifoAppend
from .fifo_words import FifoWords
from .lookup_port import OFFSET_BITS, LookupPort
from .packets import WIDE_BYTES, Status
from .parameters import RemoteParameters
from .tables import FLAG_AT, FLAG_BYTES, RESULT_AT, WIDE_RESULT_AT
from .timed import Ahead
from .write_data import WriteData


class Step(enum.Enum, shape=2):
    """The step of an APPEND, by what it accesses."""

    CONTROL = 0  # the control words are read
    RECORD = 1  # the record is written
    TAIL = 2  # the tail word is written, and is what the process waits for


class Mover(wiring.Component):
    """Carries out one work after the other. It waits for the lookup and for host memory.

    The lookup of a work begins in the slot in which it is offered. Its client may still decide, in any slot
    after that, whether it is wanted. A work is taken when it has ended. Until then it stays as it was offered.

    No process learns the bytes of another by what is done here, nor by when (tests/hdl/remote/test_mover.py).
    For that the mover itself keeps the result of an ATOMIC, and writes it with the flag of its command alone.

    Members
    -------
    i : ``In(stream)`` of `AccessWork`. With `judged`, `wanted` says whether it is carried out; both stay until it
        is taken. One that is not wanted is taken when its lookup has ended, and nothing is done.
    o : ``Out(stream)``, always ready, of `AccessDone`: the work that is taken in this slot was carried out, or
        refused. `o.payload.status` is OK at all other times but while a work is carried out.
    words : ``In(stream)``, always valid: the words of a packet from the first one that is written on
    fifo : ``In(Ahead)``, a `FifoQuestion` about the next APPEND; takes : ``In(1)``, a packet is being taken that may
        be one
    changed : ``In(1)``, a page or an exposure of any process is written
    result, keep : ``In``, the result of an ATOMIC is kept for the flag of its command; not while a FLAG is offered
    flag_of : ``In(Ahead)``, the command whose flag is written next
    lookup, bus : its ways to host memory
    atomic : ``Out(1)``, a slot's event: a number is changed
    tells, told, own : ``In``, with `config.match_cells`: a FLAG is a receipt, with `told` before it; DATA are for a
        buffer, which does not lie over the control words of a FIFO (`fifo`). They stay as a work does.
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(AccessWork)),
                "judged": In(1),
                "wanted": In(1),
                "o": Out(stream.Signature(AccessDone, always_ready=True)),
                "words": In(stream.Signature(32, always_valid=True)),
                "fifo": In(Ahead(FifoQuestion, FIFO_LEAD)),
                "takes": In(1),
                "changed": In(1),
                "result": In(Result),
                "keep": In(1),
                "flag_of": In(Ahead(BUFFER_BITS, FLAG_LEAD)),
                "lookup": Out(LookupPort()),
                "bus": Out(BurstPort()),
                "atomic": Out(1),
                **({"tells": In(1), "told": In(64), "own": In(1)} if config.match_cells else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.found = self._found = FoundNumber()
        m.submodules.unit = self._unit = AtomicUnit()
        m.submodules.write_data = self._write_data = WriteData()
        m.submodules.append = self._append = FifoAppend(self.config)
        m.submodules.fifo_words = self._fifo_words = FifoWords()
        m.submodules.run = self._run = BoundedBurst()
        self._work, done = self.i.payload, self.o.payload
        self._appends, self._flags = self._work.kind == Kind.APPEND, self._work.kind == Kind.FLAG
        self._wide = self._work.length == WIDE_BYTES
        self._misaligned = self._is_misaligned()
        self._step = Signal(Step)
        self._left = Signal(range(len(CONTROL_FIELDS)))  # words to read behind this one
        self._tail_follows = Signal()  # on the write under way
        self._failed = Signal()  # one of the words was refused
        self._little = Signal()  # of the exposure that an ATOMIC changes
        self._apart = Signal()  # an APPEND's record and its FIFO's control words lie in different pages
        self._from_packet = Signal()  # the words to write are the packet's
        self._locating = Signal()  # the answer of the lookup is for the work under way
        self._kept, self._held = Signal(Result), Signal()  # the result of the last ATOMIC: no two are outstanding
        self._returns = Signal()  # the next flag is that of the command that it is for
        self._connect(m)
        self._connect_fifo(m)
        self._join(m)
        self._ask(m)
        m.d.comb += done.old.eq(self._found.value)
        with m.FSM():
            self._locate(m)
            self._read(m)
            self._place(m)
            self._write(m)
        return m

    def _connect(self, m):
        """The numbers of an ATOMIC, what becomes of them, and the result of one that another NIC did."""
        work, found, unit, write_data = self._work, self._found, self._unit, self._write_data
        m.d.comb += [
            found.wide.eq(self._wide),
            found.little.eq(self._little),
            found.word.eq(self.bus.read.payload.data),
            unit.wide.eq(self._wide),
            unit.op.eq(work.atomic),
            unit.operand.eq(work.operand),
            unit.comparand.eq(work.comparand),
            unit.old.eq(found.value),
            write_data.number.eq(unit.new),
            write_data.wide.eq(self._wide),
            write_data.little.eq(self._little),
            write_data.result.eq(self._kept.value),
            write_data.left.eq(self._run.left),
        ]
        if self.config.match_cells:
            with m.If(self.tells):
                m.d.comb += write_data.result.eq(self.told)
        with m.If(self.keep):
            m.d.sync += [self._kept.eq(self.result), self._held.eq(1)]
        m.d.sync += self._returns.eq(self._held & (self._kept.buffer == self.flag_of.value) & ~self.keep)

    def _connect_fifo(self, m):
        """The FIFO of an APPEND, from its control words to what becomes of them."""
        fifo, append, words = self.fifo.value, self._append, self._fifo_words
        m.d.comb += [
            words.exposure.eq(fifo.exposure),
            words.offset.eq(fifo.offset),
            words.field.eq(len(CONTROL_FIELDS) - 1 - self._left),
            words.word.eq(self.bus.read.payload.data),
            words.new_tail.eq(append.new_tail),
            words.begin.eq(~self.takes),
            append.tail.eq(words.tail),
            append.head.eq(words.head),
            append.ring.eq(words.ring),
            append.length.eq(fifo.length),
            append.retry.eq(fifo.retry),
            append.barred.eq(fifo.barred),
        ]
        # Registered: the control words come late in their slot, and have stood for long when it is used.
        m.d.sync += self._apart.eq(append.offset[OFFSET_BITS:] != fifo.offset[OFFSET_BITS:])
        with m.If(self.changed):
            m.d.comb += words.forget.eq(1)

    def _join(self, m):
        """The burst port is the run's; `_read` takes what a read brings."""
        bus, lookup, run = self.bus, self.lookup, self._run
        wiring.connect(m, run.burst, wiring.flipped(bus.burst))
        wiring.connect(m, run.data, wiring.flipped(bus.write))
        m.d.comb += [
            run.located.eq(lookup.done & self._locating),
            run.allowed.eq((lookup.status == Status.OK) & self.wanted & ~self._misaligned),
            run.address.eq(lookup.address),
            run.length.eq(lookup.length),
            run.written.eq(bus.written),
            run.refused.eq(bus.refused),
            run.words.valid.eq(1),
            run.words.payload.eq(Mux(self._from_packet, self.words.payload, self._write_data.word)),
            self.words.ready.eq(run.words.ready & self._from_packet),
        ]

    def _ask(self, m):
        """Drive `lookup` with the memory that the step of the work needs."""
        lookup, work, append = self.lookup, self._work, self._append
        for name in ("owner", "exposure", "need", "key", "offset", "length"):
            m.d.comb += getattr(lookup, name).eq(getattr(work, name))
        with m.If(self._appends):
            m.d.comb += lookup.length.eq(CONTROL_BYTES)
            with m.If(self._step == Step.RECORD):
                m.d.comb += [lookup.offset.eq(append.offset), lookup.length.eq(append.size)]
            with m.If(self._step == Step.TAIL):
                m.d.comb += lookup.length.eq(4)
        with m.If(self._flags):
            at = Mux(self._returns, Mux(self._kept.wide, WIDE_RESULT_AT, RESULT_AT), FLAG_AT)
            if self.config.match_cells:
                at = Mux(self.tells, WIDE_RESULT_AT, at)
            m.d.comb += [lookup.offset.eq(work.offset | at), lookup.length.eq(FLAG_AT + 4 - at)]

    def _is_misaligned(self):
        """Return 1 if a number, the control words of a FIFO or a flag are not at a multiple of their size."""
        offset, atomic = self._work.offset, self._work.kind == Kind.ATOMIC
        in_word, in_pair, in_flag = offset[:2].any(), offset[2], offset[: (FLAG_BYTES - 1).bit_length()].any()
        return ((atomic | self._appends) & in_word) | (atomic & self._wide & in_pair) | (self._flags & in_flag)

    def _locate(self, m):
        """Select the place in host memory of the work, and judge it."""
        lookup, status = self.lookup, self.o.payload.status
        m.d.comb += lookup.wanted.eq(1)
        with m.State("IDLE"):
            # `full` may have been that of the FIFO before when the step was chosen.
            late = self._appends & (self._step == Step.RECORD) & self._append.full
            m.d.comb += lookup.start.eq(self.i.valid & ~late)
            self._store_word(m)
            m.d.sync += status.eq(Status.OK)
            with m.If(lookup.start):
                m.next = "LOOKUP"
            with m.Else():
                has_room = self._fifo_words.known & ~self._append.full
                m.d.sync += self._step.eq(Mux(has_room, Step.RECORD, Step.CONTROL))
        with m.State("LOOKUP"):
            m.d.comb += [lookup.start.eq(1), lookup.wanted.eq(self.judged), self._locating.eq(1)]
            m.d.sync += [
                self._little.eq(lookup.little),
                self.o.payload.signals.eq(lookup.signals),
                self._from_packet.eq(~self._flags & ~(self._appends & (self._step == Step.TAIL))),
                self._left.eq(Mux(self._appends, len(CONTROL_FIELDS) - 1, self._wide)),
                self._failed.eq(0),
            ]
            with m.If(lookup.done & ~self.wanted):
                m.d.comb += self.i.ready.eq(1)
                m.next = "IDLE"
            with m.Elif(lookup.done & self._misaligned):
                m.d.sync += status.eq(Status.ALIGNMENT)
                m.next = "DONE"
            with m.Elif(lookup.done):
                m.next = "WRITE"
                with m.If(lookup.status != Status.OK):
                    m.d.sync += status.eq(lookup.status)
                    m.next = "DONE"
                with m.Elif(self._reads_first()):
                    m.next = "READ"

    def _reads_first(self):
        """Return 1 if the access begins with a read: of an ATOMIC's word, or a FIFO's control words."""
        return (self._work.kind == Kind.ATOMIC) | (self._appends & (self._step == Step.CONTROL))

    def _read(self, m):
        """Read the memory: the word of an ATOMIC, or the control words of a FIFO."""
        with m.State("READ"):
            m.d.comb += [self._run.read.eq(1), self._found.begin.eq(1)]
            with m.If(self._run.begun):
                m.next = "OLD"
        with m.State("OLD"):
            m.d.comb += [
                self.bus.read.ready.eq(1),
                self._fifo_words.take.eq(self.bus.read.valid & self._appends),
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
                    with m.If(self._appends):
                        m.next = "RECALL"
                    with m.If(self._failed | self.bus.read.payload.error):
                        m.d.sync += self.o.payload.status.eq(Status.BUS)
                        m.next = "DONE"
        with m.State("NEW"):
            m.d.comb += [self._write_data.store_number.eq(1), self.atomic.eq(1)]
            m.next = "WRITE"

    def _place(self, m):
        """Choose what is written of a FIFO whose control words were read. They stand in the slot after that."""
        for state, after in (("RECALL", "COUNT"), ("COUNT", "FIT"), ("FIT", "PLACE")):
            with m.State(state):
                m.next = after
        with m.State("PLACE"):
            self._store_word(m)
            m.d.sync += self._step.eq(Step.RECORD)
            with m.If(self._append.full):
                m.d.sync += self.o.payload.status.eq(Mux(self._append.barred, Status.BEFORE, Status.FULL))
                m.d.sync += self._step.eq(Step.TAIL)
            m.next = "LOOKUP"

    def _write(self, m):
        """Write the words, and report the status. While a record is written its tail is looked up."""
        lookup, run = self.lookup, self._run
        with m.State("WRITE"):
            m.d.comb += run.write.eq(1)
            record = self._appends & (self._step == Step.RECORD)
            m.d.sync += self._tail_follows.eq(record)
            with m.If(run.begun):
                with m.If(record):
                    m.d.sync += self._step.eq(Step.TAIL)
                m.next = "MOVE"
        with m.State("MOVE"):
            m.d.comb += [lookup.start.eq(self._tail_follows), lookup.wanted.eq(0)]
            with m.If(run.done):
                m.next = "DONE"
                with m.If(self._tail_follows):
                    m.next = "LOOKUP"
                with m.If(run.bad):
                    m.d.sync += self.o.payload.status.eq(Status.BUS)
                    with m.If(self._tail_follows):
                        m.next = "DISCARD"
        with m.State("DISCARD"):  # the tail is not written, as its record was refused
            with m.If(lookup.done):
                m.next = "DONE"
        with m.State("DONE"):
            m.d.comb += [self.o.valid.eq(1), self.i.ready.eq(1)]
            self._note_written(m)
            m.next = "IDLE"

    def _note_written(self, m):
        """A work has been carried out, or was refused: what of that concerns what is kept. A record may lie in the
        page of its FIFO's control words, over those of others."""
        status, words = self.o.payload.status, self._fifo_words
        returns, written = self._returns, (status == Status.OK) | (status == Status.BUS)
        if self.config.match_cells:
            returns, written = returns & ~self.tells, written & ~self.own
        with m.If(self._flags):
            with m.If(returns):
                m.d.sync += self._held.eq(0)
        with m.Elif(self._appends & (status == Status.OK) & self._apart):
            m.d.comb += words.keep.eq(1)
        with m.Elif(written):
            m.d.comb += words.forget.eq(1)

    def _store_word(self, m):
        """A word is written next, or behind what goes before it: a flag, or the tail word of a FIFO."""
        tail = self._append.new_tail.as_value()
        m.d.comb += [
            self._write_data.store_word.eq(1),
            self._write_data.number.eq(Mux(self._flags, self._work.flag.as_value(), tail)),
        ]
