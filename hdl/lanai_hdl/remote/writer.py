"""Writes a run of bytes to host memory."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BURST_BITS, Burst, WriteWord
from .lookup import LENGTH_BITS


class Run(data.Struct):
    """`length` bytes (not 0) from bus address `address`, in one page."""

    address: 32
    length: LENGTH_BITS


class MemoryWriter(wiring.Component):
    """Writes one run as one burst.

    Members: `run`, a stream; `words`, the run's words as they will lie in memory; `burst`, `write`,
    `written`, `refused` of a `BurstPort`. `done`, a slot's event: the host has answered every word;
    `bad` with it: it refused one.
    """

    run: In(stream.Signature(Run))
    words: In(stream.Signature(32))
    burst: Out(stream.Signature(Burst))
    write: Out(stream.Signature(WriteWord))
    written: In(1)
    refused: In(1)
    done: Out(1)
    bad: Out(1)

    def elaborate(self, platform):
        m = Module()
        run, burst = self.run.payload, self.burst.payload
        left, unanswered = Signal(BURST_BITS), Signal(BURST_BITS)
        first_mask, last_mask = Signal(4), Signal(4)
        end = Signal(2)
        failed = Signal()
        m.d.comb += [
            end.eq(run.address[:2] + run.length[:2]),
            burst.write.eq(1),
            self.write.payload.data.eq(self.words.payload),
            self.write.payload.be.eq(first_mask & Mux(left == 1, last_mask, 0b1111)),
            self.bad.eq(failed | (self.written & self.refused)),
        ]
        with m.If(self.written):
            m.d.sync += [unanswered.eq(unanswered - 1), failed.eq(self.bad)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.run.ready.eq(1)
                words = (run.length + run.address[:2] + 3) >> 2
                m.d.sync += [
                    burst.word.eq(run.address >> 2),
                    burst.words.eq(words),
                    left.eq(words),
                    unanswered.eq(words),
                    first_mask.eq(0b1111 >> run.address[:2]),
                    last_mask.eq(Mux(end == 0, 0b1111, ~(0b1111 >> end))),
                    failed.eq(0),
                ]
                with m.If(self.run.valid):
                    m.next = "BURST"
            with m.State("BURST"):
                m.d.comb += self.burst.valid.eq(1)
                with m.If(self.burst.ready):
                    m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [
                    self.write.valid.eq(self.words.valid & (left != 0)),
                    self.words.ready.eq(self.write.ready & (left != 0)),
                ]
                with m.If(self.write.valid & self.write.ready):
                    m.d.sync += [left.eq(left - 1), first_mask.eq(0b1111)]
                with m.If(self.written & (unanswered == 1)):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        return m
