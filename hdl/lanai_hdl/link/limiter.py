"""Keeps the link to its rate at any clock."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..run_time import numbers


class RateLimiter(wiring.Component):
    """A token bucket of one flit: `ready` while a flit may be sent, `take` when one is.

    Each slot brings `link_kbytes` tokens and a flit takes `4 * slot_khz`, so the mean rate of a
    busy link is exact, whatever the two clocks. `full` once waiting longer would bring no more
    (nothing changes until the next `take`).
    """

    ready: Out(1)
    take: In(1)
    full: Out(1)

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        known = numbers(self.config, platform)
        income, price = known.link_kbytes, 4 * known.slot_khz
        # What is missing for the next flit, so that a link at rest has 0 at any rate. Less than 0: more
        # than the price was held. That carries over a take; only a link with nothing to send loses
        # income. `ready` is kept beside `debt` so that nothing is compared on the way to it.
        debt = Signal(range(1 - self.config.link_kbytes, 4 * self.config.slot_khz + 1))
        owed = Signal.like(debt)  # one slot after a take
        m.d.comb += [
            self.full.eq(self.ready & (debt == 0)),
            owed.eq(debt + (price - income)),
        ]
        with m.If(self.take):
            m.d.sync += [debt.eq(owed), self.ready.eq(owed <= 0)]
        with m.Elif(~self.ready):
            m.d.sync += [debt.eq(debt - income), self.ready.eq(debt <= income)]
        with m.Else():
            m.d.sync += debt.eq(0)
        return m
