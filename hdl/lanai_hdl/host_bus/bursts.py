"""Host memory in whole bursts, for a bus or a line that takes no beat alone."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..queue import BlockRamQueue, Queue
from .master import READ_AHEAD
from .ports import HostMemoryPort, ReadWord, WriteWord

QUIET = 16  # slots without a beat after which a write burst leaves with what it has


class MemoryBursts(wiring.Component):
    """Gathers beats into bursts, one at a time.

    A write burst is offered when it is whole: with its last beat, with as many as the NIC makes without an answer, or
    QUIET slots after the last that came. So a reset of the NIC, which withdraws beats, leaves no burst open. A read
    burst is asked for as long as the NIC says it will be; what the NIC no longer wants after a reset is discarded. An
    error of a write burst is told of each of its beats.

    Parameters
    ----------
    longest : beats of a burst
    alike : all beats of a write burst have the same byte enables

    Members
    -------
    mem : ``In(HostMemoryPort())``
    reset : ``In(1)``, CONTROL.RESET stood in the slot before (`Nic.in_reset`)
    burst : ``Out(stream of write, count, addr)``. The payload stays until the burst is answered
    write : ``Out(stream of WriteWord)``, a write burst's words, from when it is offered
    read : ``In(stream of ReadWord)``, a read burst's; those beyond its count are dropped
    end, refused : ``In(1)``, the answer to a write burst that was taken, or: no more words of the read burst come
    pending : ``Out(1)``, a burst is gathered or offered
    idle : ``Out(1)``, none is under way
    """

    def __init__(self, longest: int, alike: bool = False):
        self._longest, self._alike = longest, alike
        self._layout = data.StructLayout({"write": 1, "count": range(longest + 1), "addr": 32})
        super().__init__(
            {
                "mem": In(HostMemoryPort()),
                "reset": In(1),
                "burst": Out(stream.Signature(self._layout)),
                "write": Out(stream.Signature(WriteWord)),
                "read": In(stream.Signature(ReadWord)),
                "end": In(1),
                "refused": In(1),
                "pending": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # One of depth 1 has an address of no bits, which Verilog cannot write.
        most_written = min(self._longest, READ_AHEAD)
        m.submodules.writes = self._writes = Queue(WriteWord, max(2, most_written))
        kind = Queue if self._longest <= READ_AHEAD else BlockRamQueue
        m.submodules.reads = self._reads = kind(ReadWord, max(2, self._longest))
        self._now = Signal(self._layout)  # the burst
        self._follows = Signal()  # the next beat is there: beats of a burst are in a row, unless a reset ends it
        self._unwanted, self._failed = Signal(), Signal()  # a read burst: after a reset; no more words come
        m.d.comb += [
            self.burst.payload.eq(self._now),
            self._writes.i.payload.data.eq(self.mem.wdata),
            self._writes.i.payload.be.eq(self.mem.be),
            self.write.payload.eq(self._writes.o.payload),
            self.mem.rdata.eq(self._reads.o.payload.data),
            self._follows.eq(self.mem.valid & (self.mem.write == self._now.write)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                self._begin(m, most_written)
            with m.State("GATHER"):
                self._gather(m, most_written)
            with m.State("OFFER"):
                m.d.comb += [self.pending.eq(1), self.burst.valid.eq(1)]
                with m.If(self.reset):
                    m.d.sync += self._unwanted.eq(1)
                with m.If(self.burst.ready):
                    m.next = "READ"
                with m.If(self._now.write):
                    self._give_words(m)
                    with m.If(self.burst.ready):
                        m.next = "WRITTEN"
            with m.State("READ"):
                self._answer_reads(m)
            self._answer_writes(m)
        return m

    def _begin(self, m, most_written):
        mem, now = self.mem, self._now
        count = Mux(mem.burst > self._longest, self._longest, mem.burst)
        m.d.comb += [
            self.idle.eq(~mem.valid),
            mem.ready.eq(mem.write),
            self._writes.i.valid.eq(mem.valid & mem.write),
        ]
        m.d.sync += [
            now.write.eq(mem.write),
            now.addr.eq(mem.addr),
            now.count.eq(Mux(mem.write, 1, count)),
            self._unwanted.eq(0),
            self._failed.eq(0),
        ]
        with m.If(mem.valid):
            m.next = "OFFER"
            if most_written > 1:
                with m.If(mem.write & (mem.burst != 1)):
                    m.next = "GATHER"

    def _gather(self, m, most_written):
        mem, now = self.mem, self._now
        quiet, follows, be = Signal(range(QUIET + 1)), Signal(), self._writes.o.payload.be
        alike = mem.be == be if self._alike else 1
        m.d.comb += [
            self.pending.eq(1),
            follows.eq(self._follows & alike),
            mem.ready.eq(follows),
            self._writes.i.valid.eq(follows),
        ]
        m.d.sync += quiet.eq(Mux(follows, 0, quiet + 1))
        with m.If(follows):
            m.d.sync += now.count.eq(now.count + 1)
        done = follows & ((mem.burst == 1) | (now.count == most_written - 1))
        with m.If(done | (mem.valid & ~follows) | self.reset | (quiet == QUIET)):
            m.d.sync += quiet.eq(0)
            m.next = "OFFER"

    def _give_words(self, m):
        m.d.comb += [self.write.valid.eq(self._writes.o.valid), self._writes.o.ready.eq(self.write.ready)]

    def _answer_writes(self, m):
        refused, told = Signal(), Signal.like(self._now.count)
        with m.State("WRITTEN"):
            self._give_words(m)
            m.d.sync += refused.eq(self.refused)
            with m.If(self.end):
                m.next = "TELL"
        with m.State("TELL"):
            m.d.comb += [self.mem.rvalid.eq(1), self.mem.rerror.eq(refused)]
            m.d.sync += told.eq(told + 1)
            with m.If(told == self._now.count - 1):
                m.d.sync += told.eq(0)
                m.next = "IDLE"

    def _answer_reads(self, m):
        mem, now, reads = self.mem, self._now, self._reads
        came, given = Signal.like(now.count), Signal.like(now.count)
        there, follows = Signal(), Signal()
        answers = Signal()  # to the beat of the slot before
        lost = self._failed & (reads.level == 0)
        m.d.comb += [
            self.read.ready.eq(1),
            reads.i.payload.eq(self.read.payload),
            reads.i.valid.eq(self.read.valid & (came != now.count)),
            there.eq(reads.o.valid | lost),
            follows.eq(self._follows & there & ~answers & ~self._unwanted),
            mem.ready.eq(follows),
            reads.o.ready.eq(answers | self._unwanted),
            mem.rvalid.eq(answers),
            mem.rerror.eq(reads.o.payload.error | lost),
        ]
        m.d.sync += [answers.eq(follows), came.eq(came + (reads.i.valid & reads.i.ready))]
        with m.If(self.end):
            m.d.sync += self._failed.eq(1)
        with m.If(self.reset):
            m.d.sync += self._unwanted.eq(1)
        with m.If(there & (answers | self._unwanted)):
            m.d.sync += given.eq(given + 1)
            with m.If(given == now.count - 1):
                m.d.sync += [came.eq(0), given.eq(0)]
                m.next = "IDLE"
