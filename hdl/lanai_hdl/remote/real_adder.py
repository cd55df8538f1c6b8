"""Adds two numbers of IEEE 754 binary64."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

FRACTION, EXPONENT = 52, 11  # bits
GUARD = 3  # bits below the fraction: guard, round, sticky
SPECIAL = (1 << EXPONENT) - 1  # the exponent of infinities and of what is not a number
DIGITS = 1 + FRACTION + GUARD
SLOTS = 4  # from `start` on, to the one in which `sum` stands
NO_NUMBER = 0xFFF8 << 48  # inf - inf, as x86 has it


class Real(data.Struct):
    fraction: FRACTION
    exponent: EXPONENT
    sign: 1


class RealAdder(wiring.Component):
    """A sum rounded to the nearest, ties to even, with subnormal numbers, infinities, signs of zero, and what is not a
    number: of two such operands the first, made quiet.

    It takes one pair at a time: `a` and `b` stay from `start` on until `done`, when `sum` stands. That is `SLOTS`
    slots later.
    """

    start: In(1)
    a: In(64)
    b: In(64)
    done: Out(1)
    sum: Out(64)

    def elaborate(self, platform):
        m = Module()
        a, b = (data.View(Real, value) for value in (self.a, self.b))
        under_way = Signal(SLOTS)
        m.d.sync += under_way.eq(Cat(self.start, under_way))
        m.d.comb += self.done.eq(under_way[-1])
        large, small = Signal(Real), Signal(Real)
        swaps = Cat(b.fraction, b.exponent) > Cat(a.fraction, a.exponent)
        m.d.sync += [large.eq(Mux(swaps, self.b, self.a)), small.eq(Mux(swaps, self.a, self.b))]
        exponent, subtracts = self._align(m, large, small)
        self._normalize(m, exponent, subtracts)
        self._round(m, large, exponent, subtracts, a, b)
        return m

    def _digits(self, real):
        """The number's digits, with the leading one that is not kept, and bits to round with."""
        return Cat(Const(0, GUARD), real.fraction, real.exponent.any())

    def _align(self, m, large, small):
        """The digits of both at the larger one's exponent, of which those of the smaller one beyond `GUARD` are one
        sticky bit."""
        self._large, self._small = Signal(DIGITS), Signal(DIGITS)
        scale = [Mux(real.exponent.any(), real.exponent, 1) for real in (large, small)]
        shift, digits = Signal(EXPONENT), self._digits(small)
        most = (1 << DIGITS.bit_length()) - 1
        shifted = Signal(DIGITS + most)
        m.d.comb += shift.eq(scale[0] - scale[1])
        m.d.comb += shifted.eq(Cat(Const(0, most), digits) >> Mux(shift > DIGITS, DIGITS, shift[: DIGITS.bit_length()]))
        exponent, subtracts = Signal(EXPONENT), Signal()
        m.d.sync += [
            self._large.eq(self._digits(large)),
            self._small.eq(shifted[most:] | shifted[:most].any()),
            exponent.eq(scale[0]),
            subtracts.eq(large.sign ^ small.sign),
        ]
        return exponent, subtracts

    def _normalize(self, m, exponent, subtracts):
        """The sum, shifted until its leading digit is the highest one, or the exponent the lowest."""
        total, leading = Signal(DIGITS + 1), Signal(range(DIGITS + 1))
        m.d.comb += total.eq(Mux(subtracts, self._large - self._small, self._large + self._small))
        m.d.comb += leading.eq(DIGITS)  # zeros before the first one, without the carry
        for bit in range(DIGITS):
            with m.If(total[bit]):
                m.d.comb += leading.eq(DIGITS - 1 - bit)
        shift = Signal(range(DIGITS + 1))
        m.d.comb += shift.eq(Mux(leading < exponent, leading, exponent - 1))
        self._total, self._scale = Signal(DIGITS), Signal(EXPONENT)
        carry = total[-1]
        m.d.sync += [
            self._total.eq(Mux(carry, total[1:] | total[0], total[:-1] << shift)),
            self._scale.eq(Mux(carry, exponent + 1, exponent - shift)),
        ]

    def _round(self, m, large, exponent, subtracts, a, b):
        """Round to the nearest number. Infinities, and what is not a number, are no sums of digits."""
        total, result = self._total, Signal(Real)
        up = total[GUARD - 1] & (total[: GUARD - 1].any() | total[GUARD])
        normal = Signal()  # else it has the lowest exponent, and no leading digit
        packed = Signal(FRACTION + EXPONENT)  # a carry out of the fraction goes to the exponent
        m.d.comb += [
            normal.eq(total[-1]),
            packed.eq(Cat(total[GUARD:-1], Mux(normal, self._scale, 0)) + up),
        ]
        exact_zero = ~total.any()
        m.d.comb += [
            result.eq(packed),
            result.sign.eq(Mux(exact_zero, a.sign & b.sign, large.sign)),
        ]
        with m.If(packed[FRACTION:] == SPECIAL):
            m.d.comb += result.fraction.eq(0)
        infinite = [(real.exponent == SPECIAL) & ~real.fraction.any() for real in (a, b)]
        no_number = [(real.exponent == SPECIAL) & real.fraction.any() for real in (a, b)]
        quiet = 1 << FRACTION - 1
        m.d.sync += self.sum.eq(result)
        with m.If(infinite[0] | infinite[1]):
            m.d.sync += self.sum.eq(Mux(infinite[0], self.a, self.b))
        with m.If(infinite[0] & infinite[1] & (a.sign ^ b.sign)):
            m.d.sync += self.sum.eq(NO_NUMBER)
        with m.If(no_number[1]):
            m.d.sync += self.sum.eq(self.b | quiet)
        with m.If(no_number[0]):
            m.d.sync += self.sum.eq(self.a | quiet)
