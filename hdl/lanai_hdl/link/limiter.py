"""Keeps the link to its rate at any clock."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig


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
        self.income = config.link_kbytes
        self.price = 4 * config.slot_khz
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        # What was held beyond the price carries over a take; only a link with nothing to send loses
        # income. `ready` is kept beside `held` so that nothing is compared on the way to it.
        held = Signal(range(self.price + self.income), init=self.price)
        rest = Signal(range(self.price + self.income))
        m.d.comb += [
            self.full.eq(self.ready & (held == self.price)),
            rest.eq(held - self.price),
        ]
        enough = self.price - self.income
        with m.If(self.take):
            m.d.sync += [held.eq(rest + self.income), self.ready.eq(rest >= enough)]
        with m.Elif(~self.ready):
            m.d.sync += [held.eq(held + self.income), self.ready.eq(held >= enough)]
        with m.Else():
            m.d.sync += held.eq(self.price)
        return m
