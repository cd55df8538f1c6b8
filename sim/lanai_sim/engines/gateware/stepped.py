"""The NIC and the switch as the engines evaluate them: same slots, same outputs, less work.

A NIC counts its slots itself, its inputs are registered, and its registers begin at their initial
values without a reset input. A reset would make every next value follow an input.
"""

from collections.abc import Mapping

from amaranth import ClockDomain, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member

from lanai_hdl.nic import Nic
from lanai_hdl.run_time import add_numbers


class SteppedNic(wiring.Component):
    """A NIC whose slots count themselves. `left_out` slots, an even number, are jumped over after
    this one; the NIC's own contract says when that may be (`Nic.idle`). The other members are the
    NIC's, and `more` of a subclass.

    Inputs are those of the slot that the next edge of `clk` begins. The first edge begins slot 0.

    With `as_synthesized` the domain has its reset, inputs act in the present slot, and there is no
    member `clk`: for comparison.
    """

    def __init__(self, nic: Nic, more: Mapping[str, Member] | None = None, *, as_synthesized: bool = False) -> None:
        self.nic = nic
        self.as_synthesized = as_synthesized
        members = {name: member for name, member in nic.signature.members.items() if name != "now"}
        clocks: dict[str, Member] = {} if as_synthesized else {"clk": In(1)}
        super().__init__({**members, "left_out": In(33), **clocks, **(more or {})})

    def elaborate(self, platform):  # type: ignore[no-untyped-def]  # Amaranth's own signature
        m = Module()
        m.submodules.nic = self.nic
        add_numbers(m, platform)
        if self.as_synthesized:
            now, left_out = Signal(33), self.left_out
        else:
            m.domains.sync = resetless(self.clk)
            now, left_out = Signal(33, init=-1), Signal(33)  # the first edge begins slot 0
            m.d.sync += left_out.eq(self.left_out)
        m.d.sync += now.eq(now + left_out + 1)
        m.d.comb += self.nic.now.eq(now)
        for name, member in self.nic.signature.members.items():
            if name != "now":
                join(m, member, getattr(self, name), getattr(self.nic, name), registered=not self.as_synthesized)
        return m


class SteppedSwitch(wiring.Component):
    """A switch, or what takes its place, without a reset input. Its members are the switch's, and `clk`."""

    def __init__(self, switch: wiring.Component) -> None:
        self.switch = switch
        super().__init__({**switch.signature.members, "clk": In(1)})

    def elaborate(self, platform):  # type: ignore[no-untyped-def]
        m = Module()
        m.domains.sync = resetless(self.clk)
        m.submodules.switch = self.switch
        add_numbers(m, platform)
        for name, member in self.switch.signature.members.items():
            join(m, member, getattr(self, name), getattr(self.switch, name), registered=False)
        return m


def resetless(clk: Signal) -> ClockDomain:
    """A clock domain whose registers begin at their initial values."""
    domain = ClockDomain("sync", reset_less=True, local=True)
    domain.clk = clk
    return domain


def join(m: Module, member: Member, outer: object, inner: object, *, registered: bool) -> None:
    """Connect one member of a component to the same of the component inside. `registered`: its
    inputs, through registers."""
    signature = wiring.Signature({"it": member})
    pairs = zip(signature.flatten(_Holder(outer)), signature.flatten(_Holder(inner)), strict=True)
    for (_, flat, outside), (_, _, inside) in pairs:
        if flat.flow == wiring.Out:
            m.d.comb += outside.eq(inside)
        elif registered:
            m.d.sync += inside.eq(outside)
        else:
            m.d.comb += inside.eq(outside)


class _Holder:
    """An object with the one member `it`."""

    def __init__(self, it: object) -> None:
        self.it = it
