"""Proof: a stream buffer gives out exactly the words that were stored."""

import pytest
from amaranth import Module, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.streams import PLACE_BITS, StreamBuffers, word_bits

CONFIG = Remote(payload=16, streams=2, stream_bytes=16, stream_slots=2)


class StoredSpec(wiring.Component):
    """The life of one word of the aperture, whichever: from a store on until its buffer is freed it is in
    a buffer, which holds it once and gives it out as it was stored. At no other time is it given out.
    It is not stored again before. To a depth, from reset.

    Assumed: only a buffer that was given out is freed, and only once. To spare the solver work that
    is all alike, stores are to the first four blocks, two for each buffer, and words have two bits.
    """

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = StreamBuffers(CONFIG)
        place = AnyConst(PLACE_BITS)
        for signal in (dut.place, dut.word, dut.index, dut.freed):
            m.d.comb += signal.eq(AnySeq(len(signal)))
        for signal in (dut.store, dut.close, dut.o.ready, dut.free):
            m.d.comb += signal.eq(AnySeq(1))
        m.d.comb += Assume((dut.place < 4 * (CONFIG.stream_bytes // 4)) & (dut.word < 4))
        given = Signal(CONFIG.streams)  # buffers that were given out and not freed
        number = (dut.o.payload.first >> word_bits(CONFIG))[:1]
        with m.If(dut.o.valid & dut.o.ready):
            m.d.sync += given.bit_select(number, 1).eq(1)
        m.d.comb += Assume(~dut.free | given.bit_select(dut.freed, 1))
        with m.If(dut.free):
            m.d.sync += given.bit_select(dut.freed, 1).eq(0)
        stored, sent, value = Signal(), Signal(), Signal(32)
        mine = (place >> word_bits(CONFIG))[:1]
        first = dut.o.payload.first
        covers = (place >= first) & (place < first + dut.o.payload.words)
        with m.If(dut.store & dut.taken & (dut.place == place)):
            m.d.comb += Assert(~stored, "not while it waits for its acknowledgement")
            m.d.sync += [stored.eq(1), value.eq(dut.word)]
        with m.If(dut.o.valid):
            m.d.comb += Assert(covers == (stored & ~sent & (number == mine)), "what was stored, once")
            with m.If(covers & dut.o.ready):
                m.d.sync += sent.eq(1)
        with m.If(dut.free & (dut.freed == mine)):
            m.d.comb += Assert(~stored | sent, "all that was stored is given out")
            m.d.sync += [stored.eq(0), sent.eq(0)]
        asked = Signal()  # for the word, in the slot before
        m.d.sync += asked.eq(dut.index == place[: len(dut.index)])
        before = Signal()
        m.d.sync += before.eq(stored)
        with m.If(asked & before & stored):
            m.d.comb += Assert(dut.read == value, "as it was stored")
        return m


@pytest.mark.slow
def test_what_is_given_out_is_what_was_stored(prove):
    prove(StoredSpec(), mode="bmc", depth=9)
