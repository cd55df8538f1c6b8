"""Proof: what `Parse` offers stays, and has stood for as long as its contract says."""

import pytest
from amaranth import Module, Signal, Value
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.remote.access_work import FIFO_LEAD
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import REPLY_WORDS
from lanai_hdl.remote.parse import Parse

DEPTH = 14  # slots: a packet is taken, and offered for a while


class StoodSpec(wiring.Component):
    """From reset, with any words at any time. Assumed: the buffers do not take back a packet that is full before it has
    been served, and it has as many words as a reply at least; its words go to memory only while it is offered."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Parse(Remote(payload=16, peers=2, match_cells=8))
        outputs = ("o", "data", "index", "rests", "at")
        for value in (dut.o.ready, dut.data.ready):
            m.d.comb += value.eq(AnySeq(1))
        for name in dut.signature.members:
            if name not in outputs:
                m.d.comb += getattr(dut, name).eq(AnySeq(len(getattr(dut, name))))
        full, words = Signal(), Signal.like(dut.words)
        m.d.sync += [full.eq(dut.full & ~(dut.o.valid & dut.o.ready)), words.eq(dut.words)]
        m.d.comb += [
            Assume(~full | (dut.full & (words == dut.words))),
            Assume(~dut.full | (dut.words >= REPLY_WORDS)),
            Assume(dut.o.valid | ~(dut.data.ready | dut.rewinds)),
        ]
        packet = dut.o.payload
        offered, before = Signal(), Signal.like(Value.cast(packet))
        m.d.sync += [offered.eq(dut.o.valid & ~dut.o.ready), before.eq(packet)]
        m.d.comb += Assert(~offered | (dut.o.valid & (before == packet.as_value())), "it stays until it is taken")
        asks = dut.o.valid & packet.sound & packet.appends
        for value in (packet.target.exposure, packet.size.length, packet.offset):
            past = value
            for _ in range(FIFO_LEAD):
                past, last = Signal.like(value), past
                m.d.sync += past.eq(last)
                m.d.comb += Assert(~asks | (past == value), "a question about a FIFO has stood")
        return m


@pytest.mark.proof
def test_what_is_offered_stays_and_a_question_about_a_fifo_has_stood(prove):
    prove(StoodSpec(), mode="bmc", depth=DEPTH)
