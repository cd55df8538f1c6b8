"""The fabric's combination of the NICs' bits."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .csr import BITS


class BarrierCombiner(wiring.Component):
    """A bit of `result` rises when it is set at all members, and falls when it is clear at all.

    So a program sets its bit for one barrier and clears it for the next. Whoever is late finds the
    result of the first still there, because this cannot change before its own bit has. While
    `failed`, the result stays.

    Parameters
    ----------
    members : how many there may be
    bits : how many each of them has

    Members
    -------
    i : ``In(bits)`` of each member
    present : ``In(members)``, who is a member. It must not change after reset. Without any the
        result is 0.
    failed : ``In(1)``
    result : ``Out(bits)``, registered
    idle : ``Out(1)``, the result does not change
    """

    def __init__(self, members: int, bits: int = BITS):
        if members < 1:
            raise ValueError(f"members={members!r} must be at least 1")
        ports = {"result": Out(bits), "idle": Out(1)}
        super().__init__({"i": In(bits).array(members), "present": In(members), "failed": In(1), **ports})

    def elaborate(self, platform):
        m = Module()
        after = Signal(len(self.result))
        for n in range(len(self.result)):
            column = Cat(member[n] for member in self.i)
            some = (column & self.present).any()
            every = (column | ~self.present).all() & self.present.any()
            m.d.comb += after[n].eq((self.result[n] & some) | every)
        with m.If(~self.failed):
            m.d.sync += self.result.eq(after)
        m.d.comb += self.idle.eq(self.failed | (after == self.result))
        return m
