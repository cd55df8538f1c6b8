"""Takes the packets for one node off the ring."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from .config import RingConfig
from .symbol import PLACE_BITS, RingHead, Symbol


class Stripper(wiring.Component):
    """Passes symbols on in the slot in which they come. In the place of a packet for this node its
    echo leaves, and idle symbols. So no more flits leave than come.

    If there is no space for a packet, the node refuses it with a busy echo, and its source sends it again. Until
    then all other packets of this source are refused too, so packets of one source stay in order.

    Members
    -------
    number : ``In``, the node's
    i, o : ``In(Symbol)``, ``Out(Symbol)``
    room : ``In(1)``, a whole packet can be delivered
    delivers, flit : ``Out``, a flit of a packet for this node; its HEAD has a route of 0
    echoed, place, busy : ``Out``, an echo of this node's packet came
    """

    def __init__(self, config: RingConfig):
        self.config = config
        super().__init__(
            {
                "number": In(range(config.ports)),
                "i": In(Symbol),
                "o": Out(Symbol),
                "room": In(1),
                "delivers": Out(1),
                "flit": Out(Flit),
                "echoed": Out(1),
                "place": Out(PLACE_BITS),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, o = self.i, self.o
        head, echo = data.View(RingHead, i.data), Signal(RingHead)
        is_head, is_tail, is_idle = i.kind == Kind.HEAD, i.kind == Kind.TAIL, i.kind == Kind.IDLE
        strips, accepts = Signal(), Signal()  # a packet is stripped; and delivered
        owes_tail = Signal()  # of the echo
        go = Signal(init=1)  # of the last idle symbol that came: what idle symbols made here say
        begins, is_echo = Signal(), Signal()
        m.d.comb += [
            begins.eq(is_head & (head.target == self.number)),
            is_echo.eq(begins & head.echo),
            echo.target.eq(head.source),
            echo.source.eq(self.number),
            echo.place.eq(head.place),
            echo.echo.eq(1),
            echo.busy.eq(~self._admits(m, head, begins & ~head.echo)),
            o.eq(i),
            self.flit.kind.eq(i.kind),
            self.echoed.eq(is_echo),
            self.place.eq(head.place),
            self.busy.eq(head.busy),
        ]
        with m.If(begins & ~head.echo):
            m.d.comb += [o.data.eq(echo), self.delivers.eq(~echo.busy)]
            m.d.sync += [accepts.eq(~echo.busy), owes_tail.eq(1)]
        with m.Elif(begins | (strips & ~is_idle)):
            m.d.comb += [o.kind.eq(Kind.IDLE), o.data.eq(0), o.go.eq(go)]
            m.d.sync += owes_tail.eq(0)
            with m.If(owes_tail):
                m.d.comb += o.kind.eq(Kind.TAIL)
            m.d.comb += [self.delivers.eq(accepts & ~begins), self.flit.data.eq(i.data)]
        with m.If(begins):
            m.d.sync += strips.eq(1)
        with m.Elif(is_tail):
            m.d.sync += [strips.eq(0), accepts.eq(0)]
        with m.If(is_idle):
            m.d.sync += go.eq(i.go)
        return m

    def _admits(self, m, head, judged):
        """Return 1 if the packet is taken. For each source from which one was refused, `expected` is
        the place of the first."""
        count = self.config.ports
        refused, expected = Signal(count), Signal(data.ArrayLayout(PLACE_BITS, count))
        waits = refused.bit_select(head.source, 1)
        admits = Signal()
        m.d.comb += admits.eq(self.room & (~waits | (expected[head.source] == head.place)))
        with m.If(judged):
            m.d.sync += refused.bit_select(head.source, 1).eq(~admits)
            with m.If(~waits):
                m.d.sync += expected[head.source].eq(head.place)
        return admits
