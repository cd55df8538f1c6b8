"""The NIC as master of the host bus."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..queue import Queue
from ..run_time import numbers
from .ports import Burst, BurstPort, HostMemoryPort, ReadWord, WriteWord

READ_AHEAD = 16  # words on their way from the host or not yet taken: covers the host's answer and a contended LBUS
MOST_STALLED = 8  # clocks that a burst may stall before the master releases the bus, as PCI asks of a target


class BusMaster(wiring.Component):
    """Runs an engine's bursts on the host bus, a word a bus clock.

    Members: `engine`, `mem`. `want` the bus, hold it while `granted`; `tick` is the bus clock;
    `contended`, PIO waits for the bus. A burst costs its setup clocks first. It is given up, to be
    continued as a new one, when the engine has kept it waiting for MOST_STALLED clocks, or PIO has
    for `latency_timer`. Events of a slot: `begun`, a burst; `beat`, a word. `idle` while nothing is
    under way.
    """

    engine: In(BurstPort())
    mem: Out(HostMemoryPort())
    want: Out(1)
    granted: In(1)
    tick: In(1)
    contended: In(1)
    begun: Out(1)
    beat: Out(1)
    idle: Out(1)

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        config, known = self.config, numbers(self.config, platform)
        m.submodules.writes = writes = Queue(WriteWord, 4)
        m.submodules.reads = reads = Queue(ReadWord, READ_AHEAD)
        wiring.connect(m, wiring.flipped(self.engine.write), writes.i)
        wiring.connect(m, reads.o, wiring.flipped(self.engine.read))

        burst = Signal(Burst)
        setup = Signal(range(max(config.read_setup, config.write_setup) + 1))
        owed = Signal(range(READ_AHEAD + 2))  # reads on `mem` whose answer has not been taken
        unanswered = Signal(range(READ_AHEAD + 6))
        idle_clocks = Signal(range(MOST_STALLED + 1))
        clocks = Signal(range(config.latency_timer + 1))
        possible = Signal()
        leave = Signal()
        m.d.comb += [
            possible.eq(Mux(burst.write, writes.o.valid, owed != READ_AHEAD) & (unanswered != READ_AHEAD)),
            leave.eq((self.contended & (clocks == known.latency_timer)) | (idle_clocks == MOST_STALLED)),
        ]
        self._answers(m, burst, reads, unanswered, owed)
        with m.If(self.mem.ready):
            m.d.sync += self.mem.valid.eq(0)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.engine.burst.ready.eq(1)
                m.d.comb += self.idle.eq(~self.engine.burst.valid & (unanswered == 0) & (reads.level == 0))
                m.d.sync += burst.eq(self.engine.burst.payload)
                with m.If(self.engine.burst.valid):
                    m.next = "CLAIM"
            with m.State("CLAIM"):
                m.d.sync += [
                    setup.eq(Mux(burst.write, known.write_setup, known.read_setup)),
                    clocks.eq(0),
                    idle_clocks.eq(0),
                ]
                self._claim(m, possible)
            with m.State("SETUP"):
                self._set_up(m, setup)
            with m.State("DATA"):
                m.d.comb += self.want.eq(~leave)
                with m.If(self.tick & (clocks != known.latency_timer)):
                    m.d.sync += clocks.eq(clocks + 1)
                self._move(m, burst, writes, possible, leave, idle_clocks)
        return m

    def _claim(self, m, possible):
        """Only with something to move: an engine that waits for the wire must not keep the host off
        the bus."""
        m.d.comb += self.want.eq(possible)
        with m.If(possible & self.granted):
            m.d.comb += self.begun.eq(1)
            m.next = "SETUP"

    def _set_up(self, m, setup):
        """State SETUP: the clocks that a burst costs before its first word."""
        m.d.comb += self.want.eq(1)
        with m.If(self.tick):
            m.d.sync += setup.eq(setup - 1)
            with m.If(setup == 1):
                m.next = "DATA"

    def _move(self, m, burst, writes, possible, leave, idle_clocks):
        """State DATA: a word a clock, until the burst ends or is given up."""
        with m.If(leave):
            m.next = "CLAIM"
        with m.Elif(self.tick & possible & (~self.mem.valid | self.mem.ready)):
            self._beat(m, burst, writes)
            m.d.sync += idle_clocks.eq(0)
            with m.If(burst.words == 1):
                m.next = "IDLE"
        with m.Elif(self.tick):
            m.d.sync += idle_clocks.eq(idle_clocks + 1)

    def _beat(self, m, burst, writes):
        m.d.comb += [self.beat.eq(1), writes.o.ready.eq(burst.write)]
        m.d.sync += [
            self.mem.valid.eq(1),
            self.mem.write.eq(burst.write),
            self.mem.addr.eq(burst.word << 2),
            self.mem.wdata.eq(writes.o.payload.data),
            self.mem.be.eq(Mux(burst.write, writes.o.payload.be, 0b1111)),
            self.mem.burst.eq(burst.words),
            burst.word.eq(burst.word + 1),
            burst.words.eq(burst.words - 1),
        ]

    def _answers(self, m, burst, reads, unanswered, owed):
        """Counts what the host still owes. All beats under way are of one direction: the engine
        sees to that."""
        reading = Signal()
        with m.If(self.beat):
            m.d.sync += reading.eq(~burst.write)
        answer = Signal()
        m.d.comb += [
            answer.eq(self.mem.rvalid & (unanswered != 0)),
            reads.i.valid.eq(answer & reading),
            reads.i.payload.data.eq(self.mem.rdata),
            reads.i.payload.error.eq(self.mem.rerror),
            self.engine.written.eq(answer & ~reading),
            self.engine.refused.eq(self.mem.rerror),
        ]
        m.d.sync += unanswered.eq(unanswered + self.beat - answer)
        taken = reads.o.valid & reads.o.ready
        m.d.sync += owed.eq(owed + (self.beat & ~burst.write) - taken)
