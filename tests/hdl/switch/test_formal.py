"""Proofs of an output's arbiter, whichever inputs request and for however long: one holder, kept until it
lets go, and no input passed over."""

import pytest
from amaranth import Module, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.switch.arbiter import HoldingArbiter


class HolderSpec(wiring.Component):
    """At most one grant; it goes to an input that requests, and stays while that one requests."""

    def __init__(self, requesters):
        self.requesters = requesters
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = HoldingArbiter(self.requesters)
        m.d.comb += dut.request.eq(AnySeq(self.requesters))
        past, asked, granted = Signal(), Signal(self.requesters), Signal(self.requesters)
        m.d.sync += [past.eq(1), asked.eq(dut.request), granted.eq(dut.grant)]
        m.d.comb += Assert((dut.grant & (dut.grant - 1)) == 0, "at most one holder")
        with m.If(past):
            m.d.comb += Assert((dut.grant & ~asked) == 0, "no grant without request")
            with m.If((granted & asked).any()):
                m.d.comb += Assert(dut.grant == granted, "a path is held until its tail has passed")
            with m.Elif(asked.any()):
                m.d.comb += Assert(dut.grant.any(), "a free output serves any input that requests")
        return m


class FairnessSpec(wiring.Component):
    """A steady requester waits for at most one turn of each other."""

    def __init__(self, requesters):
        self.requesters = requesters
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        count = self.requesters
        m.submodules.dut = dut = HoldingArbiter(count)
        patient = AnyConst(count.bit_length())
        m.d.comb += [dut.request.eq(AnySeq(count)), Assume(patient < count)]
        waits, before = Signal(), Signal(count)
        turns = Signal(range(count + 2))  # begun by others while the patient one waits
        m.d.comb += waits.eq((dut.request & ~dut.grant).bit_select(patient, 1))
        m.d.sync += before.eq(dut.grant & dut.request)
        with m.If(~waits):
            m.d.sync += turns.eq(0)
        with m.Elif((dut.grant & ~before).any() & (turns != count + 1)):
            m.d.sync += turns.eq(turns + 1)
        m.d.comb += Assert(turns < count, "an input was served twice while another waited")
        return m


@pytest.mark.parametrize("requesters", [2, 5])
def test_an_output_has_one_holder_until_its_tail(prove, requesters):
    prove(HolderSpec(requesters))


@pytest.mark.parametrize("requesters", [2, 3])
def test_no_input_is_passed_over(prove, requesters):
    """From reset, for longer than every order of requests takes to come round twice."""
    prove(FairnessSpec(requesters), mode="bmc", depth=6 * requesters)
