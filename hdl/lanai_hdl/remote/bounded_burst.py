"""A burst that is bounded to the run of host memory that a lookup has allowed."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BURST_BITS, Burst, WriteWord
from .lookup_port import LENGTH_BITS


class BoundedBurst(wiring.Component):
    """Makes bursts over the bytes that the last lookup has allowed.

    No address comes from anywhere else: a burst covers exactly the words that the run touches, and
    no byte outside the run is written. A proof holds this (tests/hdl/remote/test_bounded_burst.py).

    Members
    -------
    located : ``In(1)``, a lookup has answered. If `allowed`, the `length` bytes (not 0) from bus
        address `address` are the run from now on; they lie in one page. Otherwise there is
        none and nothing is driven; nor if a burst begins in this slot or a write is under way.
    read, write : ``In(1)``, at most one: asks for a burst over the run, until `begun`
    words : ``In(stream)``, the words of a write as they will lie in memory
    burst, data, written, refused : as `burst`, `write`, `written`, `refused` of a `BurstPort`
    done : ``Out(1)``, a slot's event: the host has answered every word of a write; `bad` with it:
        it refused one

    Attributes: `granted`, there is a run; `left`, `unanswered`, words of a write under way that
    have not been handed over, or answered; `first_mask`, `last_mask`, what is written of the run's
    first and last word. Its registers, for proofs.
    """

    located: In(1)
    allowed: In(1)
    address: In(32)
    length: In(LENGTH_BITS)
    read: In(1)
    write: In(1)
    begun: Out(1)
    words: In(stream.Signature(32))
    burst: Out(stream.Signature(Burst))
    data: Out(stream.Signature(WriteWord))
    written: In(1)
    refused: In(1)
    done: Out(1)
    bad: Out(1)

    def __init__(self):
        super().__init__()
        self.granted = Signal()
        self.left, self.unanswered = Signal(BURST_BITS), Signal(BURST_BITS)
        self.first_mask, self.last_mask = Signal(4), Signal(4)

    def elaborate(self, platform):
        m = Module()
        burst = self.burst.payload
        granted, left, unanswered = self.granted, self.left, self.unanswered
        first_mask, last_mask = self.first_mask, self.last_mask
        failed = Signal()
        m.d.comb += [
            self.burst.valid.eq((self.read | self.write) & granted & (unanswered == 0)),
            burst.write.eq(self.write),
            self.begun.eq(self.burst.valid & self.burst.ready),
            self.data.valid.eq(self.words.valid & (left != 0)),
            self.words.ready.eq(self.data.ready & (left != 0)),
            self.data.payload.data.eq(self.words.payload),
            self.data.payload.be.eq(
                Mux(left == burst.words, first_mask, 0b1111) & Mux(left == 1, last_mask, 0b1111),
            ),
            self.bad.eq(failed | self.refused),
            self.done.eq(self.written & (unanswered == 1)),
        ]
        with m.If(self.begun & self.write):
            m.d.sync += [left.eq(burst.words), unanswered.eq(burst.words), failed.eq(0)]
        with m.Else():
            with m.If(self.data.valid & self.data.ready):
                m.d.sync += left.eq(left - 1)
            with m.If(self.written & (unanswered != 0)):
                m.d.sync += [unanswered.eq(unanswered - 1), failed.eq(self.bad)]
        at_rest = (unanswered == 0) & ~self.begun
        with m.If(self.located):
            m.d.sync += granted.eq(self.allowed & at_rest)
            with m.If(at_rest):
                end = (self.address[:2] + self.length[:2])[:2]
                m.d.sync += [
                    burst.word.eq(self.address >> 2),
                    burst.words.eq((self.length + self.address[:2] + 3) >> 2),
                    first_mask.eq(0b1111 >> self.address[:2]),
                    last_mask.eq(Mux(end == 0, 0b1111, ~(0b1111 >> end))),
                ]
        return m
