"""Counters: `machine.COUNTERS` in gateware."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .machine import COUNTERS


class Counters(wiring.Component):
    """For each counter, by its name in lower case: `count_<name>` in one slot adds one to `<name>`, two slots "
    "later. `still` while none is due."""

    def __init__(self):
        members = {"still": Out(1)}
        for name, _ in COUNTERS:
            members[f"count_{name.lower()}"] = In(1)
            members[name.lower()] = Out(32)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        due = Signal(len(COUNTERS))
        for bit, (name, _) in enumerate(COUNTERS):
            value = getattr(self, name.lower())
            m.d.sync += due[bit].eq(getattr(self, f"count_{name.lower()}"))
            with m.If(due[bit]):
                m.d.sync += value.eq(value + 1)
        m.d.comb += self.still.eq(~due.any())
        return m
