"""Counters: `machine.COUNTERS` in gateware."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..machine import COUNTERS

NAMES = tuple(counter.name for counter in COUNTERS)


class Counters(wiring.Component):
    """For each counter, by its name in lower case: `count_<name>` in one slot adds one to `<name>`, three slots later.

    Of those in LATE the count tells of the slot before, so it takes two slots. The register file looks at a counter a slot after the access
    that reads it: to software a count shows two slots after what it counts. `idle` while none is due.
    """

    LATE = ("DOORBELLS", "SEND_ERRORS", "RECV_REFUSED", "QUEUE_OVERFLOWS", "PIO_FAULTS")

    def __init__(self):
        members = {"idle": Out(1)}
        for name in NAMES:
            members[f"count_{name.lower()}"] = In(1)
            members[name.lower()] = Out(32)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        noted, due = Signal(len(NAMES)), Signal(len(NAMES))
        for bit, name in enumerate(NAMES):
            value, count = getattr(self, name.lower()), getattr(self, f"count_{name.lower()}")
            m.d.sync += due[bit].eq(count) if name in self.LATE else [noted[bit].eq(count), due[bit].eq(noted[bit])]
            with m.If(due[bit]):
                m.d.sync += value.eq(value + 1)
        m.d.comb += self.idle.eq(~noted.any() & ~due.any())
        return m
