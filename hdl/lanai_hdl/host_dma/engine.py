"""The host DMA engine: runs descriptors."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..control.csr import CONTROL
from ..host_bus.ports import BurstPort
from ..lbus.lbus import ADDRESS_BITS, LbusMaster
from ..lbus.masters import HDMA
from ..queue import BypassQueue
from ..receive_dma.engine import RecvProgress
from ..send_dma.engine import LENGTH_BITS
from .aligner import Aligner
from .csr import HOST_DMA
from .cutter import BurstCutter
from .sramside import SramReader, SramWriter


class HostDescriptor(data.Struct):
    """One transfer. The fields are HDMA_*'s; a `refused` one moves nothing and completes with an
    error."""

    host: 32
    local: ADDRESS_BITS
    length: LENGTH_BITS
    to_host: 1
    feed: 1
    follow: 1
    stop: 1
    refused: 1


class HostDma(NicBlock):
    """Runs descriptors one after another; any byte addresses, any length, in bursts.

    Members: `post`, a stream of descriptors, checked, with `refused` set if they are bad; `free`
    entries of their queue; `lbus`; `bus`; `progress` of the receive DMA, for `follow`. `pointer`:
    bytes of SRAM below it have been moved (read, towards the host). Events of a slot: `done`, a
    descriptor, with `error`; `fed`, that a `feed` one wrote `feed` bytes (which is signalled before it
    is known that they are written), and `spoil` while one fails, which feeds its length all the
    same. `idle` while nothing is queued or under way.

    A descriptor with `stop` that fails raises `failed` and stops the engine: it is not done, and no
    other begins, until `resume`. `failed` comes once for each descriptor that fails, with `stop` or
    without. `stopped` while the engine waits for `resume`.

    Towards the SRAM a word that the host refuses is not written, nor is what follows in its
    descriptor.
    """

    lbus_master = HDMA
    bus_engine = True

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "post": In(stream.Signature(HostDescriptor)),
                "free": Out(range(config.hdma_queue + 1), init=config.hdma_queue),
                "lbus": Out(LbusMaster()),
                "bus": Out(BurstPort()),
                "progress": In(RecvProgress()),
                "pointer": Out(LENGTH_BITS),
                "done": Out(1),
                "error": Out(1),
                "failed": Out(1),
                "stopped": Out(1),
                "resume": In(1),
                "fed": Out(1),
                "feed": Out(LENGTH_BITS),
                "spoil": Out(1),
                "idle": Out(1),
            }
        )

    def connect_registers(self, bank):
        return [bank.value(HOST_DMA.registers.HDMA_POINTER).eq(self.pointer)]

    def raises(self):
        yield Raises(HOST_DMA.events.HOST_DMA_DONE, self.done)
        yield Raises(HOST_DMA.events.HOST_DMA_ERROR, self.failed)
        yield Raises(CONTROL.events.BUS_ERROR, self.failed)

    def counts(self):
        yield Counts(HOST_DMA.counters.HDMA_ERRORS, self.failed)

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = BypassQueue(HostDescriptor, self.config.hdma_queue)
        m.submodules.aligner = aligner = Aligner()
        m.submodules.cutter = cutter = BurstCutter(self.config)
        m.submodules.reader = reader = SramReader()
        m.submodules.writer = writer = SramWriter()
        wiring.connect(m, wiring.flipped(self.post), queue.i)
        wiring.connect(m, cutter.o, wiring.flipped(self.bus.burst))
        wiring.connect(m, wiring.flipped(self.progress), reader.progress)
        m.d.comb += self.free.eq(queue.free)

        run = Signal(HostDescriptor)
        load = Signal()
        bad = Signal()
        settled = Signal()
        resumed = Signal()  # the failure of this descriptor has been dealt with
        end = Signal(LENGTH_BITS)
        unwritten = Signal(LENGTH_BITS)  # words that the host has not answered
        self._load(m, run, load, aligner, cutter, reader, writer)
        self._join(m, run, aligner, reader, writer)
        m.d.comb += [
            end.eq(run.local + run.length),
            settled.eq(~aligner.busy & ~writer.busy & (unwritten == 0)),
            self.feed.eq(Mux(run.refused, run.length, writer.bytes)),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.idle.eq(~queue.o.valid), queue.o.ready.eq(1)]
                m.d.sync += run.eq(queue.o.payload)
                with m.If(queue.o.valid):
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.sync += [bad.eq(run.refused), resumed.eq(0), unwritten.eq(0)]
                self._begin(m, run, load, unwritten)
            with m.State("RUN"):
                self._account(m, run, writer, reader, bad, unwritten)
                with m.If(settled):
                    m.next = "FINISH"
            with m.State("FINISH"):
                stop = bad & run.stop & ~resumed
                m.d.comb += self.failed.eq(bad & ~resumed)
                self._finish(m, run, bad, stop, end)
            with m.State("STOPPED"):
                self._await_resume(m, resumed)
        return m

    def _begin(self, m, run, load, unwritten):
        """State LOAD: starts what moves the bytes, if there are any."""
        with m.If(run.refused | (run.length == 0)):
            m.next = "FINISH"
        with m.Else():
            m.d.comb += load.eq(1)
            with m.If(run.to_host):
                m.d.sync += unwritten.eq((run.length + run.host[:2] + 3) >> 2)
            m.next = "RUN"
        with m.If(~run.refused):
            m.d.sync += self.pointer.eq(run.local)

    def _finish(self, m, run, bad, stop, end):
        """State FINISH: `done`, or a `stop` until the failure has been dealt with."""
        with m.If(~run.refused):
            m.d.sync += self.pointer.eq(end)
        with m.If(stop):
            m.next = "STOPPED"
        with m.Else():
            m.d.comb += [self.done.eq(1), self.error.eq(bad)]
            with m.If(run.feed & ~run.to_host & run.refused):
                m.d.comb += [self.spoil.eq(1), self.fed.eq(1)]
            m.next = "IDLE"

    def _await_resume(self, m, resumed):
        """State STOPPED: until the failure has been dealt with."""
        m.d.comb += [self.stopped.eq(1), self.idle.eq(1)]
        m.d.sync += resumed.eq(self.resume)
        with m.If(self.resume):
            m.next = "FINISH"

    def _load(self, m, run, load, aligner, cutter, reader, writer):
        m.d.comb += [
            aligner.load.eq(load),
            aligner.length.eq(run.length),
            cutter.load.eq(load),
            cutter.write.eq(run.to_host),
            cutter.addr.eq(run.host),
            cutter.length.eq(run.length),
            reader.load.eq(load & run.to_host),
            reader.addr.eq(run.local),
            reader.length.eq(run.length),
            reader.follow.eq(run.follow),
            writer.load.eq(load),
            writer.addr.eq(run.local),
        ]

    def _join(self, m, run, aligner, reader, writer):
        """Source -> aligner -> target, whichever way the bytes go."""
        with m.If(run.to_host):
            join_words(m, reader.o, aligner.i)
            m.d.comb += [
                aligner.source.eq(run.local[:2]),
                aligner.target.eq(run.host[:2]),
                self.bus.write.valid.eq(aligner.o.valid),
                self.bus.write.payload.data.eq(aligner.o.payload.data),
                self.bus.write.payload.be.eq(aligner.o.payload.mask),
                aligner.o.ready.eq(self.bus.write.ready),
            ]
            join_lbus(m, reader.lbus, self.lbus)
        with m.Else():
            join_words(m, self.bus.read, aligner.i)
            join_words(m, aligner.o, writer.i)
            m.d.comb += [aligner.source.eq(run.host[:2]), aligner.target.eq(run.local[:2])]
            join_lbus(m, writer.lbus, self.lbus)
        # Which way the bytes go need not be known for this: the other one has nothing to do.
        m.d.comb += self.lbus.request.eq(reader.lbus.request | writer.lbus.request)

    def _account(self, m, run, writer, reader, bad, unwritten):
        with m.If(run.to_host):
            m.d.sync += self.pointer.eq(reader.pointer)
            with m.If(self.bus.written):
                m.d.sync += [unwritten.eq(unwritten - 1), bad.eq(bad | self.bus.refused)]
        with m.Else():
            m.d.sync += bad.eq(writer.failed)
            with m.If(writer.settled):
                m.d.sync += self.pointer.eq(self.pointer + writer.bytes)
            with m.If(run.feed):
                m.d.comb += [self.fed.eq(writer.settled), self.spoil.eq(writer.failed)]


def join_words(m, source, sink):
    m.d.comb += [sink.valid.eq(source.valid), sink.payload.eq(source.payload), source.ready.eq(sink.ready)]


def join_lbus(m, inner, outer):
    for name in ("write", "addr", "wdata", "be"):
        m.d.comb += getattr(outer, name).eq(getattr(inner, name))
    m.d.comb += [inner.grant.eq(outer.grant), inner.rdata.eq(outer.rdata)]
