"""Proofs of the wire and of one NIC's copy, whatever is sent and whichever NIC sends STOP."""

import pytest
from amaranth import Module, Signal
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import wiring

from lanai_hdl.config import lanai41
from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.link.flit import Kind
from lanai_hdl.segment.config import Backoff, SegmentConfig
from lanai_hdl.segment.contention import Contention
from lanai_hdl.segment.listener import Listener
from lanai_hdl.segment.segment import Segment


class CopySpec(wiring.Component):
    """A copy is HEAD to TAIL, goes nowhere against STOP, and is the packet on the wire if the
    packet's own TAIL ends it."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Listener()
        m.d.comb += [dut.taken.eq(AnySeq(1)), dut.flit.eq(AnySeq(35)), dut.mine.eq(AnySeq(1))]
        m.d.comb += dut.link.stop.eq(AnySeq(1))
        self._legal_wire(m, dut)
        out, stopped = dut.link, Signal()
        within, missed, counted = Signal(), Signal(), Signal()
        m.d.sync += stopped.eq(dut.link.stop)
        head, tail, leaves = out.kind == Kind.HEAD, out.kind == Kind.TAIL, out.kind != Kind.IDLE
        m.d.comb += Assert(~(leaves & stopped), "nothing leaves against STOP")
        with m.If(leaves):
            m.d.comb += Assert(head == ~within, "a HEAD begins a copy, and nothing else does")
            m.d.sync += within.eq(~tail)

        past, data, came, ended = Signal(), Signal(32), Signal(), Signal()
        comes = dut.taken & dut.mine
        m.d.sync += [past.eq(1), data.eq(dut.flit.data), came.eq(comes), ended.eq(comes & (dut.flit.kind == Kind.TAIL))]
        # `missed`: some flit of the packet on the wire has not left. Seen a slot late, when its
        # flit stands on the link.
        gone = came & ~leaves
        with m.If(came):
            m.d.sync += missed.eq(~ended & (missed | gone))
        with m.If(came & leaves & ~tail):
            m.d.comb += Assert(~missed | (out.kind == Kind.IDLE), "no word leaves behind one that is missing")
        with m.If(came & ended & tail & (out.data == data)):
            m.d.comb += Assert(~missed | counted, "a copy that lacks a word is counted")
        with m.If(dut.dropped):
            m.d.sync += counted.eq(1)
        return m

    def _legal_wire(self, m, dut):
        """Talkers send HEAD to TAIL, and a packet's targets do not change."""
        within, mine = Signal(), Signal()
        kind = dut.flit.kind
        m.d.comb += Assume((kind == Kind.HEAD) | (kind == Kind.DATA) | (kind == Kind.TAIL) | (kind == Kind.CHECK))
        with m.If(dut.taken):
            m.d.comb += [Assume((kind == Kind.HEAD) == ~within), Assume(~within | (dut.mine == mine))]
            m.d.sync += [within.eq(kind != Kind.TAIL), mine.eq(dut.mine)]


class OneTalkerSpec(wiring.Component):
    """In no slot do two talkers' flits pass, and once a HEAD has passed only its talker's do, until
    its TAIL."""

    def __init__(self, ports, backoff=None):
        nic = lanai41().but(rx_fifo=16, link_latency=1)
        self.config = SegmentConfig(ports=ports, nic=nic, frame=FrameTimes(gap=2), backoff=backoff)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Segment(self.config)
        for rx, tx in zip(dut.rx, dut.tx, strict=True):
            m.d.comb += [rx.kind.eq(AnySeq(3)), rx.data.eq(AnySeq(32)), tx.stop.eq(0)]
        heard = [tx.kind != Kind.IDLE for tx in dut.tx]
        begins = [tx.kind == Kind.HEAD for tx in dut.tx]
        one, other = dut.tx[0], dut.tx[1]
        with m.If(heard[0] & heard[1]):
            m.d.comb += Assert((one.kind == other.kind) & (one.data == other.data), "all hear the same talker")
        busy = Signal()
        with m.If(begins[0] | begins[1]):
            m.d.comb += Assert(~busy, "a packet begins when the one before has ended, for whomever that was")
        tail = (heard[0] & (one.kind == Kind.TAIL)) | (heard[1] & (other.kind == Kind.TAIL))
        with m.If(tail):
            m.d.sync += busy.eq(0)
        with m.Elif(begins[0] | begins[1]):
            m.d.sync += busy.eq(1)
        return m


def test_a_copy_is_whole_or_counted(prove):
    prove(CopySpec(), mode="bmc", depth=12)


@pytest.mark.slow
@pytest.mark.parametrize("backoff", [None, Backoff(slot=1, collision=1)])
def test_one_talks_at_a_time(prove, backoff):
    prove(OneTalkerSpec(2, backoff), mode="bmc", depth=12)


class ContentionSpec(wiring.Component):
    """At most one station has the wire, only one that asks is given it, and it keeps it."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Contention(3, Backoff(slot=2, collision=3))
        silent, asked, had = Signal(), Signal(3), Signal(3)
        m.d.comb += [dut.request.eq(AnySeq(3)), silent.eq(AnySeq(1)), dut.silent.eq(silent)]
        m.d.sync += [asked.eq(dut.request), had.eq(dut.grant)]
        could, past = Signal(), Signal()  # the wire was silent and no NIC had it, in the slot before
        m.d.sync += [could.eq(silent & ~(dut.grant & dut.request).any()), past.eq(1)]
        m.d.comb += Assert((dut.grant & (dut.grant - 1)[:3]) == 0, "one at a time")
        with m.If(past & (had & asked).any()):
            m.d.comb += Assert(dut.grant == had, "kept while it is asked for")
        with m.Elif(dut.grant.any()):
            m.d.comb += Assert(could & ((dut.grant & ~asked) == 0), "given on a silent wire to who asks")
        return m


def test_a_contended_wire_has_one_holder(prove):
    prove(ContentionSpec())
