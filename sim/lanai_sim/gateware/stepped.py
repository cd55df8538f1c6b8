"""The NIC as the engines evaluate it: with its count of slots inside.

A count that came in from outside would make the whole arbitration of the LBUS follow an input, and Verilator would work it out twice a
slot.
"""

from collections.abc import Mapping

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member

from lanai_hdl.nic import Nic


class SteppedNic(wiring.Component):
    """A NIC whose slots count themselves. `left_out` slots, an even number, are jumped over after this one; the NIC's own contract says
    when that may be (`Nic.idle`). The other members are the NIC's, and `more` of a subclass."""

    def __init__(self, nic: Nic, more: Mapping[str, Member] | None = None) -> None:
        self.nic = nic
        members = {name: member for name, member in nic.signature.members.items() if name != "now"}
        super().__init__({**members, "left_out": In(33), **(more or {})})

    def elaborate(self, platform):  # type: ignore[no-untyped-def]  # Amaranth's own signature
        m = Module()
        m.submodules.nic = self.nic
        now = Signal(33)
        m.d.sync += now.eq(now + self.left_out + 1)
        m.d.comb += self.nic.now.eq(now)
        for name, member in self.nic.signature.members.items():
            if name == "now":
                continue
            outer, inner = getattr(self, name), getattr(self.nic, name)
            if member.is_port:
                m.d.comb += outer.eq(inner)
            else:
                wiring.connect(m, wiring.flipped(outer), inner)
        return m
