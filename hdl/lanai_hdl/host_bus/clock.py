"""The host bus clock, counted in slots."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..run_time import numbers


class HostClock(wiring.Component):
    """`tick` in the slots in which a host bus clock ends. It runs while `run`, and starts with a
    whole clock."""

    run: In(1)
    tick: Out(1)

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        known = numbers(self.config, platform)
        clock, rest = known.host_bus_khz, known.slot_khz - known.host_bus_khz
        phase = Signal(range(self.config.slot_khz))
        m.d.comb += self.tick.eq(self.run & (phase >= rest))
        with m.If(~self.run):
            m.d.sync += phase.eq(0)
        with m.Elif(self.tick):
            m.d.sync += phase.eq(phase - rest)
        with m.Else():
            m.d.sync += phase.eq(phase + clock)
        return m
