"""A bus master and a host memory that answers late, with resets between."""

from amaranth import Module
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Mux, Signal
from amaranth.lib import wiring

from lanai_hdl.host_bus.answers import AnswerGuard

MOST = 5


class AnswerGuardSpec(wiring.Component):
    """Any master that has at most MOST beats under way, any host that answers each beat once, any
    resets: the master sees an answer if and only if its beat was made since the last reset."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = AnswerGuard(MOST)
        i, o, reset = dut.i, dut.o, dut.reset
        for signal in (i.valid, o.ready, o.rvalid, reset):
            m.d.comb += signal.eq(AnySeq(1))
        before, since = Signal(4), Signal(4)  # beats that are not answered, made before and since the last reset
        taken, of_old = o.valid & o.ready, o.rvalid & (before != 0)
        resetting = Signal()
        m.d.comb += [
            Assume(~o.rvalid | (before + since != 0)),
            Assume(~i.valid | (since < MOST)),
            Assume(~resetting | ~i.valid),  # a master that was reset in the slot before offers nothing
            Assert(i.rvalid == (o.rvalid & (before == 0) & dut.drained)),
            Assert(~(o.rvalid & (since != 0)) | i.rvalid),
            Assert((i.valid & i.ready) == taken),
            Assert(~taken | (before == 0), "a beat is made before the last answer of old"),
            # How the registers are linked, for the induction.
            Assert(dut.owed == before + since),
            Assert(dut.owed <= MOST),
            Assert(Mux(dut.drained, before == 0, since == 0)),
        ]
        m.d.sync += [
            resetting.eq(reset),
            before.eq(before - of_old),
            since.eq(since + taken - (o.rvalid & ~of_old)),
        ]
        with m.If(reset):
            m.d.sync += [before.eq(before + since + taken - o.rvalid), since.eq(0)]
        return m


def test_the_master_sees_its_own_answers_and_no_others(prove):
    prove(AnswerGuardSpec())
