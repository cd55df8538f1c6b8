"""The unit that computes atomics."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .packets import Atomic


def ordered(word, little):
    """A word of memory as its bytes' big-endian or `little`-endian number, or back."""
    return Mux(little, Cat(word[24:32], word[16:24], word[8:16], word[0:8]), word)


class AtomicUnit(wiring.Component):
    """An ALU that computes the new value of an ATOMIC from the old one, within the slot.

    Members: `op`; `wide`, numbers have 64 bits, not 32; `operand`, `comparand`, `old`, `new`.
    """

    op: In(Atomic)
    wide: In(1)
    operand: In(64)
    comparand: In(64)
    old: In(64)
    new: Out(64)

    def elaborate(self, platform):
        m = Module()
        old, operand, comparand = self.old, self.operand, self.comparand
        equal = (old[:32] == comparand[:32]) & (~self.wide | (old[32:] == comparand[32:]))
        m.d.comb += self.new.eq(old)
        with m.Switch(self.op):
            with m.Case(Atomic.SWAP):
                m.d.comb += self.new.eq(operand)
            with m.Case(Atomic.ADD):
                m.d.comb += self.new.eq(old + operand)
            with m.Case(Atomic.CAS):
                m.d.comb += self.new.eq(Mux(equal, operand, old))
            with m.Case(Atomic.AND):
                m.d.comb += self.new.eq(old & operand)
            with m.Case(Atomic.OR):
                m.d.comb += self.new.eq(old | operand)
            with m.Case(Atomic.XOR):
                m.d.comb += self.new.eq(old ^ operand)
        return m


class FoundNumber(wiring.Component):
    """The number that lies in one or two words of memory, which are read one after the other.

    Members: `begin`, words of another number follow, which is `wide` and `little` or not; `take`
    of `word`; `value`, in the slot after the last one. Upper bits of a number of 32 bits are
    anything.
    """

    begin: In(1)
    wide: In(1)
    little: In(1)
    take: In(1)
    word: In(32)
    value: Out(64)

    def elaborate(self, platform):
        m = Module()
        second = Signal()
        word = ordered(self.word, self.little)
        low, high = self.value[:32], self.value[32:]
        upwards = self.wide & self.little  # the lower half comes first
        with m.If(self.begin):
            m.d.sync += second.eq(0)
        with m.Elif(self.take):
            m.d.sync += [second.eq(1), high.eq(Mux(upwards, word, low))]
            with m.If(~(upwards & second)):
                m.d.sync += low.eq(word)
        return m
