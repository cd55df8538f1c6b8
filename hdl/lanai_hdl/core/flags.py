"""Flags and conditions."""

from amaranth import Array, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..isa import Condition


class FlagUpdate(data.Struct):
    """New flags: Z and N are those of `result`; `keep` leaves C and V as they are."""

    enable: 1
    result: 32
    carry: 1
    overflow: 1
    keep: 1


class Flags(wiring.Component):
    """The flags, set from `update` at the end of the slot. `holds`: `cond` holds now. `carry` is C.

    The result itself is kept, so that finding out whether it is zero costs the next slot and not
    this one.
    """

    update: In(FlagUpdate)
    clear: In(1)
    cond: In(Condition)
    carry: Out(1)
    holds: Out(1)

    def elaborate(self, platform):
        m = Module()
        result = Signal(32, init=1)
        overflow = Signal()
        zero, negative = Signal(), Signal()
        predicate = Signal()
        m.d.comb += [
            zero.eq(~result.any()),
            negative.eq(result[31]),
            # In the order of the condition's upper three bits (isa.operations.PREDICATES).
            predicate.eq(
                Array(
                    [
                        1,
                        self.carry & ~zero,
                        ~self.carry,
                        ~zero,
                        ~overflow,
                        ~negative,
                        ~(negative ^ overflow),
                        ~(negative ^ overflow) & ~zero,
                    ]
                )[self.cond[1:]]
            ),
            self.holds.eq(predicate ^ self.cond[0]),
        ]
        with m.If(self.update.enable):
            m.d.sync += result.eq(self.update.result)
            with m.If(~self.update.keep):
                m.d.sync += [self.carry.eq(self.update.carry), overflow.eq(self.update.overflow)]
        with m.If(self.clear):
            m.d.sync += [result.eq(1), self.carry.eq(0), overflow.eq(0)]
        return m
