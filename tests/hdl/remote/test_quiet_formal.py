"""Proofs by induction of what a receiver vouches for, and of how many requests a sender believes it.
`test_session_rules.py` has the rules that need both."""

from amaranth import Cat, Fragment, Module, Mux, Signal, Value
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import WINDOW, Op
from lanai_hdl.remote.sequencer import INDEX_BITS, Sequencer

from .test_receive_order_formal import OnceSpec

CONFIG = Remote(processes=1, peers=1, pages=2, payload=16, quiet=1)


def first(bits, wanted):
    """The number of the lowest bit that is `wanted`, or of all bits."""
    found = len(bits)
    for n in reversed(range(len(bits))):
        found = Mux(bits[n] == wanted, n, found)
    return found


class VouchSpec(OnceSpec):
    """A receiver vouches exactly if of the last `WINDOW` requests that it has accepted in the session none is in
    doubt."""

    def __init__(self):
        super().__init__(CONFIG)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        dut, last = self.dut, Signal(WINDOW)  # a bit for each of the last requests, if it is in doubt
        vouches, cleared = Signal(), Signal()
        m.d.comb += dut.doubt.eq(AnySeq(1))
        with m.If(dut.accept):
            m.d.sync += last.eq(Cat(dut.doubt, last))
        with m.If(dut.renew):
            m.d.sync += last.eq(0)
        m.d.sync += [vouches.eq(~last.any()), cleared.eq(dut.cleared)]
        with m.If(dut.cleared):
            m.d.comb += Assert(dut.doubts == WINDOW - first(last, 1))
        with m.If(cleared):
            m.d.comb += Assert(dut.vouches == vouches)
        return m


class RunSpec(wiring.Component):
    """The sequencer says of each entry how many QUIET requests are right before it, of `WINDOW` - 1 at most. There is
    one peer; a session opens while no request is admitted."""

    def elaborate(self, platform):
        m, dut = Module(), Sequencer(CONFIG)
        m.submodules.dut = fragment = Fragment.get(dut, None)
        given = [Value.cast(value) for _, member, value in dut.signature.flatten(dut) if member.flow == wiring.In]
        for value in given:
            m.d.comb += value.eq(AnyConst(INDEX_BITS) if value is dut.answered.index else AnySeq(len(value)))
        new, before, behind, kept = dut.i.payload, Signal(WINDOW - 1), Signal(WINDOW - 1), Signal()
        run = fragment.find_subfragment("runs").origins[0].read_0_data
        [head] = [one for one in fragment.statements["sync"]._lhs_signals() if one.name == "head"]
        m.d.comb += [
            Assume((new.entry.peer == 0) & (dut.opened_peer == 0)),
            Assume(~dut.opens | dut.opening),
            Assert(~dut.ready | (run == first(before, 0))),
            Assert(~kept | (dut.ready & (dut.answered_run == first(behind, 0)))),
        ]
        with m.If(dut.i.valid & dut.i.ready):
            with m.If(~new.ended):
                m.d.sync += before.eq(Cat(new.entry.op == Op.QUIET, before))
            with m.If(head[:INDEX_BITS] == dut.answered.index):
                m.d.sync += [behind.eq(before), kept.eq(1)]
        with m.If(dut.opens):
            m.d.sync += before.eq(0)
        return m


def test_a_receiver_vouches_exactly_behind_a_window_without_doubt(prove):
    prove(VouchSpec(), depth=6)


def test_a_sender_knows_how_many_quiet_requests_are_before_each(prove):
    prove(RunSpec({}), depth=3)
