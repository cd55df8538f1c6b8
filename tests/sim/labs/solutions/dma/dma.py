"""Lab 1, solved: words are read ahead into a queue while it has room."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.lbus.lbus import LbusMaster
from lanai_hdl.link.flit import Flit, Kind
from lanai_hdl.queue import Queue
from lanai_hdl.send_dma.engine import SendDescriptor

DEPTH = 4


class SendDma(wiring.Component):
    post: In(stream.Signature(SendDescriptor))
    lbus: Out(LbusMaster())
    o: Out(stream.Signature(Flit))
    done: Out(1)
    idle: Out(1)

    def __init__(self, config):
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = Queue(Flit, DEPTH)
        wiring.connect(m, words.o, wiring.flipped(self.o))
        piece = Signal(SendDescriptor)
        arriving = Signal()
        left = Signal()
        m.d.sync += arriving.eq(self.lbus.grant)
        m.d.comb += [
            left.eq(piece.length != 0),
            self.lbus.addr.eq(piece.pointer),
            self.lbus.be.eq(0b1111),
            words.i.valid.eq(arriving),
            words.i.payload.kind.eq(Kind.DATA),
            words.i.payload.data.eq(self.lbus.rdata),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.idle.eq(~arriving & ~words.o.valid), self.post.ready.eq(1)]
                m.d.sync += piece.eq(self.post.payload)
                with m.If(self.post.valid):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.lbus.request.eq(left & (words.free > arriving))
                with m.If(self.lbus.grant):
                    m.d.sync += [
                        piece.pointer.eq(piece.pointer + 4),
                        piece.length.eq(Mux(piece.length < 4, 0, piece.length - 4)),
                    ]
                with m.If(~left):
                    m.d.comb += self.done.eq(1)
                    m.next = "IDLE"
        return m
