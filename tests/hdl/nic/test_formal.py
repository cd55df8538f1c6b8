"""Proofs for every input: the arbiter, the LBUS, the bounds of the DMA engines, STOP/GO."""

from itertools import pairwise

import pytest
from amaranth import Module, Mux, Signal
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assert, Assume
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.config import NicConfig
from lanai_hdl.host_dma.engine import HostDma
from lanai_hdl.lbus.lbus import Lbus, SlotArbiter, master_bits
from lanai_hdl.lbus.masters import MASTERS
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.receiver import LinkReceiver
from lanai_hdl.link.transmitter import LinkTransmitter
from lanai_hdl.receive_dma import engine as receive_dma
from lanai_hdl.receive_dma.engine import ReceiveDma
from lanai_hdl.send_dma import engine as send_dma
from lanai_hdl.send_dma.engine import SendDma


def implies(condition, consequence):
    return ~condition | consequence


def drive(m, ports, *names):
    """Any input at any time."""
    for name in names:
        port = getattr(ports, name)
        m.d.comb += port.eq(AnySeq(len(port.as_value() if hasattr(port, "as_value") else port)))


class ArbiterSpec(wiring.Component):
    """NP-56: at most one grant, none without request, the published order, PIO in the host DMA's
    turn."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = SlotArbiter()
        drive(m, dut, "odd", "request")
        request, grant = dut.request, dut.grant
        bits = grant.as_value()
        host = request.pio | request.hdma
        wire = request.recv | request.send
        m.d.comb += [
            Assert((bits & (bits - 1)) == 0, "at most one grant"),
            Assert((bits & ~request.as_value()) == 0, "no grant without request"),
            Assert(grant.hdma == (~dut.odd & request.hdma & ~request.pio)),
            Assert(grant.pio == (~dut.odd & request.pio)),
            Assert(grant.recv == (dut.odd & request.recv)),
            Assert(grant.send == (dut.odd & request.send & ~request.recv)),
            Assert(grant.cpu == (request.cpu & ~(~dut.odd & host) & ~(dut.odd & wire))),
        ]
        return m


class LbusSpec(wiring.Component):
    """The SRAM does what the granted requester asks, and the requester gets what the SRAM
    answers."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Lbus(NicConfig(sram_size=4096))
        m.d.comb += [dut.odd.eq(AnySeq(1)), dut.sram.rdata.eq(AnySeq(32))]
        granted = Signal(master_bits(MASTERS))
        for each in MASTERS:
            master = dut.port(each)
            drive(m, master, "request", "write", "addr", "wdata", "be")
            m.d.comb += [
                granted[each.name].eq(master.grant),
                Assert(master.rdata == dut.sram.rdata),
                Assert(implies(master.grant, master.request)),
            ]
            with m.If(master.grant & ~dut.fault):
                m.d.comb += [
                    Assert(dut.sram.enable),
                    Assert(dut.sram.write == master.write),
                    Assert(dut.sram.addr == master.addr[2:12]),
                    Assert(dut.sram.wdata == master.wdata),
                    Assert(dut.sram.be == master.be),
                ]
        bits = granted.as_value()
        m.d.comb += [
            Assert((bits & (bits - 1)) == 0),
            Assert(implies(dut.sram.enable, bits.any()), "the SRAM moves without a grant"),
            Assert(implies(dut.fault, ~dut.sram.enable)),
        ]
        return m


class StopGoSpec(wiring.Component):
    """A sender that obeys STOP, a cable, a receiver that is read at any time: the FIFO does
    not overflow.

    By induction over: flits held, flits on the way, and go-aheads on the way are never more than
    the FIFO has space for.
    """

    def __init__(self, latency, rx_fifo):
        self.config = NicConfig(link_latency=latency, rx_fifo=rx_fifo)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        config, latency = self.config, self.config.link_latency
        m.submodules.rx = rx = LinkReceiver(config)
        sender = Signal(Kind)
        flits = [sender, *(Signal(Kind, name=f"flit{n}") for n in range(latency))]
        stops = [rx.link.stop, *(Signal(name=f"stop{n}") for n in range(latency))]
        m.d.sync += [later.eq(earlier) for earlier, later in pairwise(flits)]
        m.d.sync += [later.eq(earlier) for earlier, later in pairwise(stops)]
        with m.If(AnySeq(1) & ~stops[-1]):
            m.d.sync += sender.eq(Kind.DATA)
        with m.Else():
            m.d.sync += sender.eq(Kind.IDLE)
        held = Signal(range(config.rx_fifo + 1))
        m.d.comb += [
            rx.link.kind.eq(flits[-1]),
            rx.o.ready.eq(AnySeq(1)),
            held.eq(rx.fifo.level),
        ]
        going = sum(kind != Kind.IDLE for kind in [*flits, rx.kind])
        allowed = sum(~stop for stop in stops)
        in_flight = len(flits) + 1 + len(stops)
        m.d.comb += [
            Assert(~rx.overflow),
            Assert(rx.fifo.level + rx.fifo.free == config.rx_fifo),
            Assert(held + going + allowed <= config.rx_fifo - config.rx_slack + in_flight),
            Assert(in_flight <= config.rx_slack),
        ]
        for kind in [*flits, rx.kind]:
            m.d.comb += Assert((kind == Kind.IDLE) | (kind == Kind.DATA))
        return m


class HostDmaSpec(wiring.Component):
    """One descriptor, any addresses, any length up to `longest`, any pace of LBUS and host: no byte
    outside it is touched."""

    def __init__(self, longest, address_bits=32):
        self.longest = longest
        self.address_bits = address_bits
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        config = NicConfig(max_burst=8)
        m.submodules.dut = dut = HostDma(config)
        descriptor = dut.post.payload
        host, local, length, to_host = AnyConst(32), AnyConst(20), AnyConst(21), AnyConst(1)
        m.d.comb += [
            Assume(length <= self.longest),
            Assume(length != 0),
            Assume((host >> self.address_bits) == 0),
            Assume((local >> self.address_bits) == 0),
            Assume(local + length <= config.sram_size),
            Assume(host + length <= 2**32),
            descriptor.host.eq(host),
            descriptor.local.eq(local),
            descriptor.length.eq(length),
            descriptor.to_host.eq(to_host),
            descriptor.feed.eq(AnyConst(1)),
            descriptor.stop.eq(AnyConst(1)),
            dut.resume.eq(AnySeq(1)),
        ]
        posted = Signal()
        m.d.comb += dut.post.valid.eq(~posted)
        m.d.sync += posted.eq(posted | dut.post.ready)
        m.d.comb += [
            dut.lbus.grant.eq(dut.lbus.request & AnySeq(1)),
            dut.lbus.rdata.eq(AnySeq(32)),
            dut.bus.burst.ready.eq(AnySeq(1)),
            dut.bus.write.ready.eq(AnySeq(1)),
            dut.bus.read.valid.eq(AnySeq(1)),
            dut.bus.read.payload.eq(AnySeq(33)),
        ]
        end, host_end = local + length, host + length
        with m.If(dut.lbus.grant & dut.lbus.write):
            for lane in range(4):
                byte = dut.lbus.addr + lane
                inside = (byte >= local) & (byte < end)
                m.d.comb += Assert(implies(dut.lbus.be[3 - lane], inside & ~to_host), "writes outside the descriptor")
        with m.If(dut.lbus.grant & ~dut.lbus.write):
            m.d.comb += Assert(
                to_host & (dut.lbus.addr + 3 >= local) & (dut.lbus.addr < end), "reads outside the descriptor"
            )
        burst = dut.bus.burst
        first = Signal(34)
        last = Signal(34)
        m.d.comb += [first.eq(burst.payload.word << 2), last.eq((burst.payload.word + burst.payload.words) << 2)]
        with m.If(burst.valid):
            m.d.comb += [
                Assert(burst.payload.write == to_host),
                Assert(burst.payload.words != 0),
                Assert(first + 3 >= host),
                Assert(last < host_end + 4),
                Assert(first[3:] == (last - 1)[3:], "a burst crosses a boundary"),
            ]
        moved = Signal(32)  # words of the write burst: byte enables stay within the run
        with m.If(dut.bus.write.valid):
            for lane in range(4):
                byte = Signal(34)
                m.d.comb += byte.eq((host & ~3) + (moved << 2) + lane)
                m.d.comb += Assert(implies(dut.bus.write.payload.be[3 - lane], (byte >= host) & (byte < host_end)))
            with m.If(dut.bus.write.ready):
                m.d.sync += moved.eq(moved + 1)
        return m


class AnyQueue(wiring.Component):
    """In place of a queue of descriptors: it gives any, at any time."""

    def __init__(self, shape, depth):
        super().__init__(
            {"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "free": Out(range(depth + 1))}
        )
        ENGINES_QUEUES.append(self)

    def elaborate(self, platform):
        m = Module()
        drive(m, self.o, "valid", "payload")
        return m


ENGINES_QUEUES = []  # of the engine that was elaborated last


class ReceiveDmaSpec(wiring.Component):
    """Any buffers, as their register checks them, and any parts: each word of a packet goes to the next word of
    the buffer that was taken last, as it came. None goes elsewhere."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut = ReceiveDma(NicConfig(recv_queue=2, completions=2))
        m.submodules.dut = dut.elaborate(platform)
        drive(m, dut.i, "valid", "payload")
        drive(m, dut.completed, "pop")
        m.d.comb += dut.lbus.grant.eq(dut.lbus.request & AnySeq(1))
        taken = ENGINES_QUEUES.pop().o
        buffer, now = Signal.like(taken.payload), taken.payload
        progress, count, word = dut.progress, Signal(20), Signal(32)
        begins, takes = taken.valid & taken.ready, dut.fills & dut.i.valid & dut.i.ready
        m.d.comb += [
            Assume((now.pointer[:2] == 0) & (now.limit[:2] == 0) & (now.pointer <= now.limit)),
            Assume(now.limit <= 1 << len(dut.lbus.addr)),
            Assert(dut.fills == progress.busy),
            Assert(dut.fills | ~dut.lbus.request),
            Assert(~(begins & dut.fills)),
        ]
        with m.If(begins):
            m.d.sync += [buffer.eq(now), count.eq(0)]
        with m.If(takes):
            m.d.sync += word.eq(dut.i.payload.data)
        with m.If(dut.lbus.grant):
            m.d.sync += count.eq(count + 1)
        with m.If(dut.fills):
            m.d.comb += [
                Assert((buffer.pointer[:2] == 0) & (buffer.limit[:2] == 0)),
                Assert(buffer.limit <= 1 << len(dut.lbus.addr)),
                Assert((progress.start == buffer.pointer) & (progress.limit == buffer.limit)),
                Assert(progress.pointer == buffer.pointer + (count << 2)),
                Assert(progress.pointer <= progress.limit),
            ]
        with m.If(dut.lbus.request):
            m.d.comb += [
                Assert(dut.lbus.write & (dut.lbus.be == 0b1111)),
                Assert((progress.pointer < buffer.limit) & (dut.lbus.addr == progress.pointer), "outside its buffer"),
                Assert(dut.lbus.wdata == word, "another word"),
            ]
        return m


class SendDmaSpec(wiring.Component):
    """Any descriptors, as their registers check them: each word that is read is the next one of the piece that was
    taken last, no word is read of a refused one, and a piece that is done has been read whole."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        dut = SendDma(NicConfig(send_queue=2))
        m.submodules.dut = dut.elaborate(platform)
        drive(m, dut, "credit", "spoil")
        drive(m, dut.o, "ready")
        m.d.comb += [dut.lbus.grant.eq(dut.lbus.request & AnySeq(1)), dut.lbus.rdata.eq(AnySeq(32))]
        taken = ENGINES_QUEUES.pop().o
        piece, left, now, count = Signal.like(taken.payload), dut.piece, taken.payload, Signal(20)
        m.d.comb += [
            Assume(now.pointer[:2] == 0),
            Assume(now.pointer + now.length <= 1 << len(now.pointer)),
            Assert(dut.reads | ~dut.more),
            Assert(~taken.ready | ~dut.reads),
        ]
        with m.If(taken.valid & taken.ready):
            m.d.sync += [piece.eq(now), count.eq(0)]
        with m.If(dut.lbus.grant):
            m.d.sync += count.eq(count + 1)
        read, last = Signal(22), Signal(22)
        m.d.comb += [read.eq(count << 2), last.eq(piece.pointer + piece.length)]
        with m.If(dut.begins | dut.reads):
            m.d.comb += [
                Assert((piece.pointer[:2] == 0) & (last <= 1 << len(now.pointer))),
                Assert(piece.refused == left.refused),
                Assert(left.length == Mux(read < piece.length, piece.length - read, 0)),
                Assert(dut.more == (dut.reads & (left.length != 0) & ~piece.refused)),
                Assert(dut.begins | (dut.short == ((left.length < 4) | piece.refused))),
                Assert(left.pointer == (piece.pointer + read)[: len(now.pointer)]),
            ]
        with m.If(dut.begins):
            m.d.comb += Assert(count == 0)
        with m.If(dut.lbus.request):
            m.d.comb += [
                Assert(~dut.lbus.write & ~piece.refused),
                Assert((dut.lbus.addr >= piece.pointer) & (dut.lbus.addr < last), "outside its piece"),
                Assert(dut.lbus.addr == piece.pointer + read, "another word"),
            ]
        with m.If(dut.done):
            m.d.comb += Assert(piece.refused | (read >= piece.length), "not whole")
        return m


class TakesSpec(wiring.Component):
    """The transmitter takes a flit if and only if it sends it or drops it."""

    def __init__(self):
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = LinkTransmitter(NicConfig())
        drive(m, dut, "up")
        drive(m, dut.i, "valid", "payload")
        drive(m, dut.link, "stop")
        m.d.comb += [
            Assert((dut.i.valid & dut.i.ready) == (dut.sent | dut.dropped)),
            Assert(~(dut.sent & dut.dropped)),
        ]
        return m


def test_the_arbiter_keeps_the_published_order(prove):
    prove(ArbiterSpec(), depth=1)


def test_the_lbus_gives_each_requester_its_own(prove):
    prove(LbusSpec(), depth=1)


def test_the_transmitter_tells_what_it_takes(prove):
    prove(TakesSpec(), depth=1)


def test_the_receive_dma_writes_its_buffer_and_nothing_else(prove, monkeypatch):
    monkeypatch.setattr(receive_dma, "BypassQueue", AnyQueue)
    prove(ReceiveDmaSpec(), depth=2)


def test_the_send_dma_reads_its_packet_and_nothing_else(prove, monkeypatch):
    monkeypatch.setattr(send_dma, "BypassQueue", AnyQueue)
    prove(SendDmaSpec(), depth=2)


@pytest.mark.parametrize(("latency", "rx_fifo"), [(1, 16), (8, 64)])
def test_stop_go_slack_cannot_overflow(prove, latency, rx_fifo):
    prove(StopGoSpec(latency, rx_fifo), depth=2)


@pytest.mark.slow
@pytest.mark.proof
def test_the_host_dma_touches_nothing_outside_its_descriptor(prove):
    prove(HostDmaSpec(longest=5, address_bits=4), mode="bmc", depth=12)


@pytest.mark.by_hand
@pytest.mark.timeout(2400)  # 145 s of processor time
def test_the_host_dma_touches_nothing_outside_longer_descriptors(prove):
    prove(HostDmaSpec(longest=9, address_bits=5), mode="bmc", depth=14)
