"""One NIC's copy of what is on the wire."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind, LinkPort


class Listener(wiring.Component):
    """Passes the packets that are meant for one port, as far as its NIC says GO.

    STOP does not hold the wire: the copy of a NIC that says STOP is lost from there on. If its HEAD
    has left, a TAIL follows as soon as the NIC says GO, the inverse of the word that was lost
    first, so the NIC sees a CRC error. A packet that begins before that TAIL has left is lost as
    well. What leaves is always HEAD to TAIL, and nothing leaves against STOP.

    Members
    -------
    taken : ``In(1)``, a flit passes the wire in this slot
    flit : ``In(Flit)``, that flit
    mine : ``In(1)``, the packet on the wire is meant for this port
    link : ``Out(LinkPort)``, registered: a flit leaves in the slot after it passed
    dropped : ``Out(1)``, one slot for each packet of which the NIC gets less than all
    idle : ``Out(1)``, nothing leaves until a flit passes
    """

    taken: In(1)
    flit: In(Flit)
    mine: In(1)
    link: Out(LinkPort())
    dropped: Out(1)
    idle: Out(1)

    def elaborate(self, platform):
        m = Module()
        lost = Signal()  # the rest of this packet
        owed = Signal()  # a HEAD has left whose TAIL has not, and will not
        spoilt = Signal(32)
        is_head, is_tail = self.flit.kind == Kind.HEAD, self.flit.kind == Kind.TAIL
        passes, makes_up, comes = Signal(), Signal(), Signal()
        m.d.comb += [
            comes.eq(self.taken & self.mine),
            passes.eq(comes & ~self.link.stop & Mux(is_head, ~owed, ~lost)),
            makes_up.eq(owed & ~passes & ~self.link.stop),
            self.dropped.eq(comes & ~passes & (is_head | ~lost)),
            self.idle.eq(~owed & (self.link.kind == Kind.IDLE)),
        ]
        m.d.sync += self.link.kind.eq(Kind.IDLE)
        with m.If(passes):
            m.d.sync += [self.link.kind.eq(self.flit.kind), self.link.data.eq(self.flit.data)]
        with m.Elif(makes_up):
            m.d.sync += [self.link.kind.eq(Kind.TAIL), self.link.data.eq(spoilt), owed.eq(0)]
        with m.If(comes & is_tail):
            m.d.sync += lost.eq(0)
        with m.Elif(self.dropped):
            m.d.sync += lost.eq(1)
        with m.If(self.dropped & ~is_head):
            m.d.sync += [owed.eq(1), spoilt.eq(~self.flit.data)]
        return m
