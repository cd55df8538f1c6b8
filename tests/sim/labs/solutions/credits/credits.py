"""Lab 4, solved: a credit is the number of words that have left the queue, told in every slot."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.link.flit import Kind, LinkPort
from lanai_hdl.queue import Queue

COUNT_BITS = 8


class CreditSender(wiring.Component):
    i: In(stream.Signature(32))
    link: Out(LinkPort())
    back: In(LinkPort())

    def __init__(self, room):
        self.room = room
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        sends = Signal()
        sent, left, under_way = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal(COUNT_BITS)
        m.d.comb += [
            sends.eq(self.i.valid & self.i.ready),
            under_way.eq(sent - left),
            self.i.ready.eq(under_way < self.room),
        ]
        m.d.sync += [
            self.link.kind.eq(Mux(sends, Kind.DATA, Kind.IDLE)),
            self.link.data.eq(self.i.payload),
            sent.eq(sent + sends),
        ]
        with m.If(self.back.kind == Kind.DATA):
            m.d.sync += left.eq(self.back.data)
        return m


class CreditReceiver(wiring.Component):
    link: In(LinkPort())
    back: Out(LinkPort())
    o: Out(stream.Signature(32))

    def __init__(self, room):
        self.room = room
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(32, self.room)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        left = Signal(COUNT_BITS)
        leaves = queue.o.valid & queue.o.ready
        m.d.comb += [
            queue.i.valid.eq(self.link.kind == Kind.DATA),
            queue.i.payload.eq(self.link.data),
            self.back.kind.eq(Kind.DATA),
            self.back.data.eq(left),
        ]
        m.d.sync += left.eq(left + leaves)
        return m
