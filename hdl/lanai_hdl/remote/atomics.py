"""What atomics compute."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .packets import Atomic


def swapped(word):
    """The word with its bytes in the other order."""
    return Cat(word[24:32], word[16:24], word[8:16], word[0:8])


class AtomicUnit(wiring.Component):
    """What an ATOMIC makes of the words that it finds, within the slot.

    Operand, comparand and `value`, which is what was found, are numbers of 32 bits, with `wide` of
    64. `old` and `new` are words in the order in which they lie in memory, a single one last; with
    `little` their bytes are a little-endian number.
    """

    op: In(Atomic)
    little: In(1)
    wide: In(1)
    operand: In(64)
    comparand: In(64)
    old: In(64)
    new: Out(64)
    value: Out(64)

    def elaborate(self, platform):
        m = Module()
        result = Signal(64)
        equal = (self.value[:32] == self.comparand[:32]) & (~self.wide | (self.value[32:] == self.comparand[32:]))
        m.d.comb += [
            self.value.eq(self._ordered(self.old)),
            self.new.eq(self._ordered(result)),
            result.eq(self.value),
        ]
        with m.Switch(self.op):
            with m.Case(Atomic.SWAP):
                m.d.comb += result.eq(self.operand)
            with m.Case(Atomic.ADD):
                m.d.comb += result.eq(self.value + self.operand)
            with m.Case(Atomic.CAS):
                m.d.comb += result.eq(Mux(equal, self.operand, self.value))
            with m.Case(Atomic.AND):
                m.d.comb += result.eq(self.value & self.operand)
            with m.Case(Atomic.OR):
                m.d.comb += result.eq(self.value | self.operand)
            with m.Case(Atomic.XOR):
                m.d.comb += result.eq(self.value ^ self.operand)
        return m

    def _ordered(self, words):
        """From the order of memory to a number, or back. The word that comes last in memory is the
        lower half."""
        last, first = words[:32], words[32:]
        turned = Mux(self.wide, Cat(swapped(first), swapped(last)), swapped(last))
        return Mux(self.little, turned, words)
