"""Words that the packet server writes to host memory without a packet that brings them."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import BURST_BITS
from .atomics import ordered


class WriteData(wiring.Component):
    """A number that replaces one in memory, or a single word behind the result of an ATOMIC.

    Members
    -------
    store_number : ``In(1)``, `number` is to be written; it is `wide` and `little` or not
    store_word : ``In(1)``, the lower half of `number` is to be written as it is, as the last word
    result : ``In(64)``, an ATOMIC's result: what stands before a last word, as a big-endian number
    left : ``In``, words that are left to write, from the slot after either `store` on
    word : ``Out(32)``, the next one
    """

    store_number: In(1)
    store_word: In(1)
    number: In(64)
    wide: In(1)
    little: In(1)
    result: In(64)
    left: In(BURST_BITS)
    word: Out(32)

    def elaborate(self, platform):
        m = Module()
        number, little, upwards, alone = Signal(64), Signal(), Signal(), Signal()
        with m.If(self.store_number | self.store_word):
            m.d.sync += [
                number.eq(self.number),
                alone.eq(self.store_word),
                little.eq(self.store_number & self.little),
                upwards.eq(self.store_number & self.little & self.wide),  # the lower half comes first
            ]
        last = self.left == 1
        half = Mux(last ^ upwards, number[:32], number[32:])
        before = Mux(self.left == 2, self.result[:32], self.result[32:])
        m.d.comb += self.word.eq(Mux(alone & ~last, before, ordered(half, little)))
        return m
