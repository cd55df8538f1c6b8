"""Puts one node's packets on the ring, between those that pass."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Kind
from ..queue import BypassQueue
from .config import RingConfig
from .symbol import GO, PacketFlit, Symbol


class Inserter(wiring.Component):
    """The bypass FIFO of a node, and its go bits.

    A packet of this node begins behind an idle symbol that says go, if the bypass FIFO is empty.
    What comes meanwhile waits in the FIFO, leaves behind the packet, and takes the place of idle
    symbols that come. Until the FIFO is empty the node sends no other packet. If it has not been
    empty for `hold_after` slots, the node's idle symbols say no go until it is: so the others wait, and
    leave idle symbols. A go that came meanwhile is kept, and leaves with the first idle symbol
    afterwards. An idle symbol behind one that said go says go too.

    Only flits are kept in the FIFO, and the one idle symbol behind each packet. So the FIFO never
    holds more than came while a packet of this node was sent, `packet` flits and an idle symbol.

    Members
    -------
    i : ``In(Symbol)``; o : ``Out(Symbol)``, registered
    own : ``In(stream of PacketFlit)``, this node's packets, each without a pause from HEAD to TAIL
    quiet : ``Out(1)``, nothing changes while idle symbols that say go come
    """

    def __init__(self, config: RingConfig):
        self.config = config
        self.bypass = BypassQueue(Symbol, config.packet + 2)  # a full one takes nothing in the slot of a read
        self.sends, self.parts = Signal(), Signal()  # in the midst of a packet; the idle symbol behind it is due
        super().__init__(
            {
                "i": In(Symbol),
                "o": Out(Symbol, init=GO),
                "own": In(stream.Signature(PacketFlit)),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.bypass = bypass = self.bypass
        i, o, own, old = self.i, self.o, self.own, bypass.o
        is_idle = i.kind == Kind.IDLE
        behind_tail = Signal()  # the idle symbol of a packet is next
        sends, parts = self.sends, self.parts
        kept = Signal()  # a go
        empty, opening = Signal(), Signal()
        inserts, passes_flit, comes, leaves = Signal(), Signal(), Signal(), Signal()
        waited, holds = Signal(range(self.config.hold_after + 1)), Signal()  # slots that the FIFO has not been empty
        with m.If(empty):
            m.d.sync += waited.eq(0)
        with m.Elif(~holds):
            m.d.sync += waited.eq(waited + 1)
        m.d.sync += [behind_tail.eq(i.kind == Kind.TAIL), parts.eq(inserts & own.payload.last)]
        m.d.comb += [
            opening.eq((o.kind == Kind.IDLE) & o.go),
            empty.eq(bypass.level == 0),
            holds.eq(~empty & (waited == self.config.hold_after)),
            own.ready.eq(sends | (empty & opening)),
            inserts.eq(own.valid & own.ready),
            bypass.i.valid.eq(~is_idle | behind_tail),
            bypass.i.payload.eq(i),
            old.ready.eq(~inserts & ~parts),
            passes_flit.eq(old.valid & old.ready & (old.payload.kind != Kind.IDLE)),
            comes.eq(Mux(bypass.i.valid, 0, i.go) | (old.valid & old.ready & ~passes_flit & old.payload.go)),
            leaves.eq(~inserts & ~passes_flit & ~holds & (comes | kept | opening)),
            self.quiet.eq(empty & opening & ~own.valid & ~kept & ~behind_tail & ~waited.any()),
        ]
        m.d.sync += [o.kind.eq(Kind.IDLE), o.data.eq(0), o.go.eq(leaves), kept.eq(~leaves & (kept | comes))]
        with m.If(inserts):
            flit = own.payload.flit
            m.d.sync += [o.kind.eq(flit.kind), o.data.eq(flit.data), sends.eq(~own.payload.last)]
        with m.Elif(passes_flit):
            m.d.sync += [o.kind.eq(old.payload.kind), o.data.eq(old.payload.data)]
        return m
