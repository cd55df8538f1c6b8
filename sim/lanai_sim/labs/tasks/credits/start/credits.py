"""Lab 4: flow control by credit, over a long wire.

Fill the gaps, marked TODO. `lanai lab grade 4` runs the cases.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.link.flit import Kind, LinkPort
from lanai_hdl.queue import Queue

COUNT_BITS = 8  # of a credit, as the wire back carries it


class CreditSender(wiring.Component):
    """Sends words for which the other end has room.

    room  words that the other end's queue holds, 1 to 100
    i     a stream of words to send
    link  the wire there; a word is a flit of kind DATA, and a slot without a word has kind IDLE
    back  the wire back, with credits, some of which may get lost
    """

    i: In(stream.Signature(32))
    link: Out(LinkPort())
    back: In(LinkPort())

    def __init__(self, room):
        self.room = room
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        sends = Signal()
        m.d.comb += sends.eq(self.i.valid & self.i.ready)
        m.d.sync += [
            self.link.kind.eq(Mux(sends, Kind.DATA, Kind.IDLE)),
            self.link.data.eq(self.i.payload),
        ]
        # TODO 1: raise `i.ready` while the other end has room for what it holds and for all that is on its way.
        # TODO 2: read credits: flits of kind DATA that come from `back`.
        return m


class CreditReceiver(wiring.Component):
    """Takes words into a queue, and tells the sender of the room in it.

    link, back  the other ends of the wires. Of `back.data` COUNT_BITS bits pass the wire.
    o           a stream of the words
    """

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
        m.d.comb += [
            queue.i.valid.eq(self.link.kind == Kind.DATA),
            queue.i.payload.eq(self.link.data),
        ]
        # TODO 3: send credits: what will you say, and when, so that a lost one does no harm?
        return m
