"""Proofs of a node's bypass FIFO, whatever comes on the ring."""

from amaranth import Module, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.ring.config import RingConfig
from lanai_hdl.ring.inserter import Inserter

PACKET = 6


class BypassSpec(wiring.Component):
    """The FIFO takes every flit that comes: it never holds more than came while the node sent one
    packet of at most `packet` flits and the idle symbol behind it."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Inserter(RingConfig(packet=PACKET, hold_after=4))
        for signal in (dut.i.as_value(), dut.own.payload.as_value(), dut.own.valid):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        m.d.comb += Assume(~dut.sends | dut.own.valid)
        own = Signal(range(PACKET + 2))  # symbols of the packet that is sent, in the slots before
        m.d.sync += own.eq(0)
        with m.If(dut.own.valid & dut.own.ready):
            m.d.comb += Assume(dut.own.payload.last | (own < PACKET - 1))
            m.d.sync += own.eq(own + 1)
        bypass = dut.bypass
        m.d.comb += [
            Assert(~bypass.i.valid | bypass.i.ready, "what comes is taken"),
            Assert(bypass.level <= PACKET + 1),
            # How the registers are linked, for the induction.
            Assert(~(dut.sends | dut.parts) | (bypass.level <= own)),
            Assert(~dut.sends | ((own != 0) & (own < PACKET))),
            Assert(~dut.parts | (own <= PACKET)),
            Assert(~(dut.sends & dut.parts)),
            Assert((own == 0) | dut.sends | dut.parts),
        ]
        return m


def test_the_bypass_fifo_never_overflows(prove):
    prove(BypassSpec())
