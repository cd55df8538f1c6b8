"""Optional blocks of the NIC that the engines evaluate only while they are awake.

Verilator evaluates no register whose clock stays still, and no logic that follows such registers
alone. So the registers of a block that rests have a clock of their own, and its inputs come through
registers with another, which stand still while nothing wakes the block.
"""

from typing import Any

from amaranth import Cat, ClockDomain, Const, DomainRenamer, Module, ResetInserter, Signal, Value
from amaranth.lib.wiring import In

from lanai_hdl.block import NicBlock

STATE, INPUTS = "state", "inputs"  # clock domains


class RestingBlock(NicBlock):
    """`block` with clocks of its own; otherwise the same, if it keeps the contract of
    `NicBlock.wakes`.

    Who evaluates it does the following in each slot. First `state_clk` rises together with the
    NIC's clock if `awake` was high in the slot before. Then `input_clk` rises until `unsettled` is
    low. What follows the block's outputs counts after that only.

    Parameters
    ----------
    block : says what wakes it
    reset : resets it, unless it survives the NIC's reset

    Members are the block's.

    Attributes
    ----------
    state_clk, input_clk : inputs
    awake : high in a slot in which the block does something or is asked to
    unsettled : high while the block does not see its inputs as they are, in a slot in which it is
        awake and the one after
    """

    survives_reset = True  # of the NIC's own doing: the reset goes in as the other inputs do

    def __init__(self, block: Any, reset: Signal) -> None:  # Amaranth's members are known at run time only
        self.block = block
        self.lbus_master, self.bus_engine = block.lbus_master, block.bus_engine
        self.host_window = block.host_window
        self.reset: Value = Const(0) if block.survives_reset else reset
        self.state_clk, self.input_clk, self.awake, self.unsettled = Signal(), Signal(), Signal(), Signal()
        contract: Any = super()
        contract.__init__(block.signature)
        if type(block).wakes(self) is None:
            raise TypeError(f"the configuration of {type(block).__name__} says `rests`, but its `wakes` gives None")

    # The block's statements, of the members here.
    def connect_registers(self, bank):  # type: ignore[no-untyped-def]
        return type(self.block).connect_registers(self, bank)

    def wakes(self):  # type: ignore[no-untyped-def]
        return type(self.block).wakes(self)

    def raises(self):  # type: ignore[no-untyped-def]
        return self.block.raises()

    def counts(self):  # type: ignore[no-untyped-def]
        return self.block.counts()

    def idle_condition(self):  # type: ignore[no-untyped-def]
        return self.block.idle_condition()

    def elaborate(self, platform):  # type: ignore[no-untyped-def]
        m, contract = Module(), self.block
        wakes = type(contract).wakes(self)
        m.domains += [_domain(STATE, self.state_clk), _domain(INPUTS, self.input_clk)]
        reset = Signal()
        m.submodules.block = DomainRenamer(STATE)(ResetInserter(reset)(self.block))
        pairs = [(self.reset, reset)]
        members = self.block.signature.flatten(self.block)
        for (_, member, inside), (_, _, outside) in zip(members, self.signature.flatten(self), strict=True):
            inner, outer = Value.cast(inside), Value.cast(outside)
            if member.flow == In:
                pairs.append((outer, inner))
            else:
                m.d.comb += outer.eq(inner)
        for outer, inner in pairs:
            m.d[INPUTS] += inner.eq(outer)
        was_awake = Signal(init=1)
        m.d.sync += was_awake.eq(self.awake)
        m.d.comb += self.awake.eq(~contract.idle_condition() | self.reset | Cat(wakes).any())
        with m.If(self.awake | was_awake):  # a block at rest costs no comparison
            m.d.comb += self.unsettled.eq(Cat(outer != inner for outer, inner in pairs).any())
        return m


def _domain(name: str, clk: Signal) -> ClockDomain:
    domain = ClockDomain(name, reset_less=True, local=True)
    domain.clk = clk
    return domain
