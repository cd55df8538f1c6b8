"""One NIC's way onto the wire."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from ..link.format import MASK_SHIFT, MULTICAST


class Talker(wiring.Component):
    """Takes packets from a link receiver's stream, asks for the wire with each, and holds it until
    the packet's TAIL.

    The HEAD leaves with a route of 0: every hop is spent. What leaves is always HEAD to TAIL. A
    packet whose own TAIL does not come (another HEAD does, or nothing for `silent_slots`) gets a
    TAIL that is the inverse of the word before it, so receivers see a CRC error.

    Parameters
    ----------
    ports : of the segment
    silent_slots : as in `SegmentConfig`

    Members
    -------
    i : ``In(stream of Flit)``
    o : ``Out(stream of Flit)``, to the wire; transfers only while it is granted
    request : ``Out(1)``, from the HEAD to the TAIL
    targets : ``Out(ports)``, constant while `request`
    bad_route, stray, silent : ``Out(1)``, high for one slot: a packet to no port that is there was
        swallowed; a flit outside a packet was; a packet was ended early
    """

    def __init__(self, ports: int, silent_slots: int):
        self._ports = ports
        self._silent_slots = silent_slots
        super().__init__(
            {
                "i": In(stream.Signature(Flit)),
                "o": Out(stream.Signature(Flit)),
                "request": Out(1),
                "targets": Out(ports),
                "bad_route": Out(1),
                "stray": Out(1),
                "silent": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        flit = self.i.payload
        is_head, is_tail = flit.kind == Kind.HEAD, flit.kind == Kind.TAIL
        named, known = self._decode(m, flit.data)
        last = Signal(32)  # the word that left last
        cut = Signal()  # silence, not a HEAD, ended the packet
        exhausted = self._watch(m)

        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.i.valid & ~is_head):
                    m.d.comb += [self.i.ready.eq(1), self.stray.eq(1)]
                with m.Elif(self.i.valid & known):
                    m.d.sync += self.targets.eq(named)
                    m.next = "HEAD"
                with m.Elif(self.i.valid):
                    m.d.comb += [self.i.ready.eq(1), self.bad_route.eq(1)]
                    m.next = "SWALLOW"
            with m.State("HEAD"):
                self._send_head(m)
                m.d.sync += last.eq(0)
                with m.If(self.o.valid & self.o.ready):
                    m.next = "BODY"
            with m.State("BODY"):
                self._send_body(m, is_head)
                with m.If(self.o.valid & self.o.ready):
                    m.d.sync += last.eq(flit.data)
                with m.If(self.o.valid & self.o.ready & is_tail):
                    m.next = "IDLE"
                with m.Elif((self.i.valid & is_head) | exhausted):
                    m.d.sync += cut.eq(exhausted)
                    m.d.comb += self.silent.eq(1)
                    m.next = "SPOIL"
            with m.State("SPOIL"):
                self._send_tail(m, ~last)
                with m.If(self.o.ready & cut):
                    m.next = "SWALLOW"
                with m.Elif(self.o.ready):
                    m.next = "IDLE"
            with m.State("SWALLOW"):
                m.d.comb += self.i.ready.eq(~is_head)
                with m.If(self.i.valid & (is_tail | is_head)):
                    m.next = "IDLE"
        return m

    def _send_head(self, m):
        m.d.comb += [
            self.request.eq(1),
            self.o.valid.eq(self.i.valid),
            self.o.payload.kind.eq(Kind.HEAD),
            self.i.ready.eq(self.o.ready),
        ]

    def _send_body(self, m, is_head):
        """All but the HEAD of the next packet, which waits."""
        m.d.comb += [
            self.request.eq(1),
            self.o.valid.eq(self.i.valid & ~is_head),
            self.o.payload.eq(self.i.payload),
            self.i.ready.eq(self.o.ready & ~is_head),
        ]

    def _send_tail(self, m, data):
        m.d.comb += [
            self.request.eq(1),
            self.o.valid.eq(1),
            self.o.payload.kind.eq(Kind.TAIL),
            self.o.payload.data.eq(data),
        ]

    def _decode(self, m, route):
        """The ports that a route names, and whether it can be taken."""
        port = route[24:28]
        one = route[28:32] == 0b1000
        many = route[24:32] == MULTICAST
        mask = route[MASK_SHIFT : MASK_SHIFT + 16]
        named, known = Signal(self._ports), Signal()
        with m.If(one):
            m.d.comb += [named.eq(Const(1, self._ports) << port), known.eq(port < self._ports)]
        with m.Elif(many):
            m.d.comb += [named.eq(mask), known.eq(mask.any() & ~Cat(mask[self._ports :]).any())]
        return named, known

    def _watch(self, m):
        """High in the last of `silent_slots` slots of a packet in a row without a flit to send."""
        if not self._silent_slots:
            return Const(0)
        waited = Signal(range(self._silent_slots))
        exhausted = Signal()
        pauses = self.request & ~self.i.valid & ~self.o.valid
        m.d.comb += exhausted.eq(pauses & (waited == self._silent_slots - 1))
        m.d.sync += waited.eq(0)
        with m.If(pauses & ~exhausted):
            m.d.sync += waited.eq(waited + 1)
        return exhausted
