"""Lab 2, solved: a chain for each edge."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.lbus.lbus import master_bits
from lanai_hdl.lbus.masters import MASTERS, Edge


class SlotArbiter(wiring.Component):
    def __init__(self, masters=MASTERS):
        *self.engines, self.processor = masters
        bits = master_bits(masters)
        super().__init__({"odd": In(1), "request": In(bits), "grant": Out(bits), "engine": Out(1)})

    def elaborate(self, platform):
        m = Module()
        rising = [engine.name for engine in self.engines if engine.edge is Edge.RISING]
        falling = [engine.name for engine in self.engines if engine.edge is Edge.FALLING]
        with m.If(self.odd):
            self.serve(m, falling)
        with m.Else():
            self.serve(m, rising)
        name = self.processor.name
        m.d.comb += self.grant[name].eq(self.request[name] & ~self.engine)
        return m

    def serve(self, m, names):
        taken = 0
        for name in names:
            m.d.comb += self.grant[name].eq(self.request[name] & ~taken)
            taken = self.request[name] | taken
        m.d.comb += self.engine.eq(taken)
