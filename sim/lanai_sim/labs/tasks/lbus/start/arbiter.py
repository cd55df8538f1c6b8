"""Lab 2: the arbiter of the NIC's local bus, the LBUS.

Fill the gaps, marked TODO. `lanai lab grade 2` runs the cases.
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.lbus.lbus import master_bits
from lanai_hdl.lbus.masters import MASTERS, Edge


class SlotArbiter(wiring.Component):
    """Grants each slot to one master, in the slot in which it asks.

    masters  the list of masters, which `MASTERS` is in the NIC. The last is the processor, the others are engines.
             An engine has a `name` and an `edge`: it is served in even slots (Edge.RISING) or in odd ones
             (Edge.FALLING). Of engines that ask in a slot of theirs, the first in the list has it.
             The processor has any slot that no engine takes.
    odd      high in odd slots
    request  a bit for each master, by its name: `self.request["recv"]`
    grant    likewise; at most one bit is high, and only if the master asks
    engine   high if an engine has the slot
    """

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
        # TODO 2: the processor's grant. Use `self.engine`.
        return m

    def serve(self, m, names):
        """Grant the slot to the first of these engines that asks, and set `engine` if there is one."""
        # TODO 1: a loop over `names` makes a chain of m.If and m.Elif, or of expressions.
