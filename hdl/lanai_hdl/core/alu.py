"""The execute stage's arithmetic: adder and logic, shifter, bit counters. All combinational."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..isa import AluOp, Function


class Alu(wiring.Component):
    """`result` of `op` on `a`, `b`; `carry` and `overflow` as the flags would be after it
    (`AluOp`).

    The carry chain should start at once, so who gives the operands prepares them: `b` is
    complemented if `complements` says so, and `start` is what `start_of` gives.

    `result` is, with `logic`, `bits`, else `sum`, that of `a`, `b` and `start`: for those who
    cannot wait.

    `carry_in` is the C flag; `clear_carry` tells a logic operation in RI form, which clears C
    rather than keep it.

    It relies on how `AluOp` is coded: bit 2 tells logic from arithmetic, of which bit 1 subtracts
    and bit 0 takes the carry. `SHIFT` gives nothing of use.
    """

    op: In(AluOp)
    a: In(32)
    b: In(32)
    start: In(1)
    carry_in: In(1)
    clear_carry: In(1)
    logic: Out(1)
    bits: Out(32)
    sum: Out(32)
    result: Out(32)
    carry: Out(1)
    overflow: Out(1)

    def elaborate(self, platform):
        m = Module()
        a, b = self.a, self.b
        with_carry, subtracts, logic = self.op
        total = Signal(34)
        m.d.comb += [
            self.logic.eq(logic),
            # One carry chain: the carry in is added as a bit below.
            total.eq(Cat(Const(1, 1), a) + Cat(self.start, b)),
            self.sum.eq(total[1:33]),
            self.bits.eq(Mux(subtracts, a ^ b, Mux(with_carry, a | b, a & b))),
            self.result.eq(Mux(logic, self.bits, self.sum)),
            self.carry.eq(Mux(logic, self.carry_in & ~self.clear_carry, total[33])),
            self.overflow.eq(~logic & (a[31] == b[31]) & (total[32] != a[31])),
        ]
        assert [AluOp(i).name for i in range(7)] == ["ADD", "ADDC", "SUB", "SUBB", "AND", "OR", "XOR"]
        return m

    @staticmethod
    def complements(op):
        """Does `op` take b complemented?"""
        _, subtracts, logic = op
        return subtracts & ~logic

    @staticmethod
    def start_of(op, carry):
        """Return the bit that the carry chain of `op` starts with, if the C flag is `carry`."""
        with_carry, subtracts, _ = op
        return Mux(with_carry, carry, subtracts)


class Shifter(wiring.Component):
    """`a` shifted by the signed `amount`: left if positive, right if negative, by the low five bits
    of its magnitude.

    `arithmetic` keeps the sign on the way right. `carry` is the last bit shifted out on the left,
    else 0.
    """

    a: In(32)
    amount: In(32)
    arithmetic: In(1)
    result: Out(32)
    carry: Out(1)

    def elaborate(self, platform):
        m = Module()
        right = self.amount[31]
        distance = Signal(5)
        # A guard bit below catches what is shifted out last; shifting left is shifting the mirrored
        # word right.
        guarded, shifted = Signal(33), Signal(33)
        fill = self.arithmetic & right & self.a[31]
        m.d.comb += [
            # The magnitude, without the carry chain that a negation would become: it would be the
            # longest way to a data address.
            distance.eq(Cat(self.amount[k] ^ (right & self.amount[:k].any()) for k in range(5))),
            guarded.eq(Cat(Const(0, 1), Mux(right, self.a, self.a[::-1]))),
            shifted.eq(Cat(guarded, fill.replicate(31)) >> distance),
            self.result.eq(Mux(right, shifted[1:], shifted[1:][::-1])),
            self.carry.eq(shifted[0] & ~right),
        ]
        return m


class BitCounter(wiring.Component):
    """Population count, leading or trailing zeros of `a`; those of 0 are 32."""

    a: In(32)
    function: In(2)
    result: Out(6)

    def elaborate(self, platform):
        m = Module()
        mirrored = Signal(32)
        zeros, ones = Signal(6), Signal(6)
        m.d.comb += [
            mirrored.eq(Mux(self.function == Function.LEADZ, self.a[::-1], self.a)),
            zeros.eq(32),
            ones.eq(sum(self.a[bit] for bit in range(32))),
            self.result.eq(Mux(self.function == Function.POPC, ones, zeros)),
        ]
        for bit in reversed(range(32)):
            with m.If(mirrored[bit]):
                m.d.comb += zeros.eq(bit)
        return m
