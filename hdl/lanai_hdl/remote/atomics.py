"""What atomics compute."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .packets import Atomic


def swapped(word):
    """The word with its bytes in the other order."""
    return word[24:32] | (word[16:24] << 8) | (word[8:16] << 16) | (word[0:8] << 24)


class AtomicUnit(wiring.Component):
    """`new` is what `op` makes of `old`, within the slot. With `little` the bytes of `old` and
    `new` are in little-endian order; operand, comparand and `value`, which is `old` as a number,
    are numbers."""

    op: In(Atomic)
    little: In(1)
    operand: In(32)
    comparand: In(32)
    old: In(32)
    new: Out(32)
    value: Out(32)

    def elaborate(self, platform):
        m = Module()
        result = Signal(32)
        m.d.comb += [
            self.value.eq(Mux(self.little, swapped(self.old), self.old)),
            self.new.eq(Mux(self.little, swapped(result), result)),
            result.eq(self.value),
        ]
        with m.Switch(self.op):
            with m.Case(Atomic.SWAP):
                m.d.comb += result.eq(self.operand)
            with m.Case(Atomic.ADD):
                m.d.comb += result.eq(self.value + self.operand)
            with m.Case(Atomic.CAS):
                m.d.comb += result.eq(Mux(self.value == self.comparand, self.operand, self.value))
            with m.Case(Atomic.AND):
                m.d.comb += result.eq(self.value & self.operand)
            with m.Case(Atomic.OR):
                m.d.comb += result.eq(self.value | self.operand)
            with m.Case(Atomic.XOR):
                m.d.comb += result.eq(self.value ^ self.operand)
        return m
