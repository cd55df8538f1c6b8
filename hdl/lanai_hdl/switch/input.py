"""One input of the switch: reads the route, asks for the output, streams the packet, gives up what
cannot move."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from ..link.format import MASK_SHIFT, MOST_PORTS, MULTICAST


class SwitchInput(wiring.Component):
    """Takes packets from a link receiver's stream and offers each to the output that its first
    route byte names.

    The byte is `1 ccc pppp`: port `pppp`, count `ccc`. If the count is 0, the HEAD flit that leaves
    has the byte stripped. Otherwise it keeps the byte with the count less 1, so that the next
    switch sends the packet out of the same port.

    A packet holds its path from its HEAD to its TAIL; a HEAD without a TAIL before it
    also ends the packet before (the far end sees it truncated). Flits outside a packet are
    swallowed.

    A route byte without its valid bit or with a port that is not there: the packet is swallowed. A
    packet that has stood still for `blocked_slots` in a row (its output is taken, the far side says
    STOP, or its own sender is silent in its midst) is given up. Before its HEAD has left it is
    swallowed; later its middle is, and its TAIL leaves with the CRC inverted, so that everyone
    downstream sees the end of a packet that is not sound. A TAIL that cannot leave either, or does
    not come, is waited for once more as long; then the path is let go without it, and the far end
    sees the packet truncated when the next one begins.

    With `multicast` the route word may also name several outputs (`lanai_hdl.link.format`), in place
    of port 0 with a count of 4. A mask of none, or with a port that is not there, is a bad route.
    Such a packet first waits for the `turn`, then for all its outputs, of which it holds those that
    it has; each flit then goes to all of them in one slot. One input has the turn at a time, so no
    two packets wait for each other.

    Parameters
    ----------
    ports : outputs of the switch
    blocked_slots : slots after which a blocked packet is dropped, 0: never
    multicast : whether packets may go to several outputs

    Members
    -------
    i : ``In(stream of Flit)``
    o : ``Out(stream of Flit)``, meant for the output of `request`; transfers only while `grant`
    request : ``Out(ports)``, the outputs that a packet needs; one-hot without `multicast`
    grant : ``In(1)``, from all of them
    several : ``Out(1)`` and turn : ``In(1)``, only with `multicast`: high until a packet to several
        outputs has passed; it has the turn
    bad_route, blocked, stray : ``Out(1)``, high for one slot a packet (a flit for `stray`)
    """

    def __init__(self, ports: int, blocked_slots: int = 0, *, multicast: bool = False):
        self._ports = ports
        self._timeout = blocked_slots
        self._multicast = multicast
        self.copied = Signal()  # the packet goes to several outputs
        more = {"several": Out(1), "turn": In(1)} if multicast else {}
        super().__init__(
            {
                "i": In(stream.Signature(Flit)),
                "o": Out(stream.Signature(Flit)),
                "request": Out(ports),
                "grant": In(1),
                "bad_route": Out(1),
                "blocked": Out(1),
                "stray": Out(1),
                **more,
            }
        )

    def elaborate(self, platform):
        m = Module()
        flit = self.i.payload
        route = flit.data[24:32]
        port = Signal(4)
        wanted = Signal(self._ports)
        moves = Signal()
        exhausted = self._watch(m, wanted, moves)
        is_head, is_tail = flit.kind == Kind.HEAD, flit.kind == Kind.TAIL
        m.d.comb += [self.request.eq(wanted), moves.eq(self.i.valid & self.o.ready & self.grant)]

        with m.FSM() as self.fsm:  # a proof reads its state
            with m.State("IDLE"):
                with m.If(self.i.valid & ~is_head):
                    m.d.comb += [self.i.ready.eq(1), self.stray.eq(1)]
                with m.If(self.i.valid & is_head):
                    with m.If(self._names_one(route)):
                        m.d.sync += [port.eq(route[:4]), wanted.eq(Const(1, self._ports) << route[:4])]
                        m.next = "HEAD"
                        if self._multicast:
                            m.d.sync += self.copied.eq(0)
                    if self._multicast:
                        self._begin_multicast(m, flit.data)
                    with m.Else():
                        m.d.comb += [self.i.ready.eq(1), self.bad_route.eq(1)]
                        m.next = "SWALLOW"
            if self._multicast:
                self._await_turn(m, flit.data, wanted)
            with m.State("HEAD"):
                m.d.comb += [
                    self.o.valid.eq(self.i.valid & self.grant),
                    self.o.payload.kind.eq(Kind.HEAD),
                    self.o.payload.data.eq(self._route_behind(flit.data)),
                    self.i.ready.eq(self.o.ready & self.grant),
                ]
                with m.If(self.o.valid & self.o.ready):
                    m.next = "BODY"
                with m.Elif(exhausted):
                    m.d.comb += [self.i.ready.eq(1), self.blocked.eq(1)]
                    m.d.sync += wanted.eq(0)
                    m.next = "SWALLOW"
            with m.State("BODY"):
                self._body(m, is_head, is_tail, wanted, exhausted)
            with m.State("CUT"):
                self._cut(m, is_head, is_tail, wanted, moves, exhausted)
            with m.State("SWALLOW"):
                m.d.comb += self.i.ready.eq(~is_head)
                with m.If(self.i.valid & (is_tail | is_head)):
                    m.next = "IDLE"
        return m

    def _names_one(self, route):
        """Is the first byte of a route good, and does it name one output?"""
        one = route[7] & (route[:4] < self._ports)
        return one & (route != MULTICAST) if self._multicast else one

    def _begin_multicast(self, m, route):
        """The other case of a HEAD in `idle`: it names several outputs."""
        mask = route[MASK_SHIFT : MASK_SHIFT + MOST_PORTS]
        with m.Elif((route[24:] == MULTICAST) & mask.any() & ~mask[self._ports :].any()):
            m.d.sync += self.copied.eq(1)
            m.next = "TURN"

    def _await_turn(self, m, route, wanted):
        m.d.comb += self.several.eq(self.copied & wanted.any())
        with m.State("TURN"):
            m.d.comb += self.several.eq(1)
            with m.If(self.turn):
                m.d.sync += wanted.eq(route[MASK_SHIFT : MASK_SHIFT + self._ports])
                m.next = "HEAD"

    def _route_behind(self, route):
        """Return the route behind this switch. Of a packet to several outputs nothing is left: they lead to
        NICs."""
        behind = self._next_route(route)
        return Mux(self.copied, 0, behind) if self._multicast else behind

    def _next_route(self, route):
        """Return the route that the next switch or NIC finds: one count less in the first byte or, when
        none is left, without that byte."""
        count = route[28:31]
        return Mux(count.any(), Cat(route[:28], (count - 1)[:3], route[31]), Cat(Const(0, 8), route[:24]))

    def _watch(self, m, wanted, moves):
        """High in a slot in which the packet has not moved for `blocked_slots` slots."""
        if not self._timeout:
            return Const(0)
        waited = Signal(range(self._timeout))
        exhausted = Signal()
        m.d.comb += exhausted.eq(wanted.any() & ~moves & (waited == self._timeout - 1))
        m.d.sync += waited.eq(0)
        with m.If(wanted.any() & ~moves & ~exhausted):
            m.d.sync += waited.eq(waited + 1)
        return exhausted

    def _body(self, m, is_head, is_tail, wanted, exhausted):
        with m.If(self.i.valid & is_head):
            m.d.sync += wanted.eq(0)
            m.next = "IDLE"
        with m.Else():
            m.d.comb += [
                self.o.valid.eq(self.i.valid),
                self.o.payload.eq(self.i.payload),
                self.i.ready.eq(self.o.ready),
            ]
            with m.If(self.i.valid & self.o.ready & is_tail):
                m.d.sync += wanted.eq(0)
                m.next = "IDLE"
            with m.Elif(exhausted):
                m.d.comb += self.blocked.eq(1)
                m.next = "CUT"

    def _cut(self, m, is_head, is_tail, wanted, moves, exhausted):
        """Swallow the middle; the TAIL leaves spoilt, if the far side takes it in time."""
        with m.If(self.i.valid & is_head):
            m.d.sync += wanted.eq(0)
            m.next = "IDLE"
        with m.Elif(is_tail):
            m.d.comb += [
                self.o.valid.eq(self.i.valid),
                self.o.payload.kind.eq(Kind.TAIL),
                self.o.payload.data.eq(~self.i.payload.data),
                self.i.ready.eq(self.o.ready | exhausted),
            ]
            with m.If(self.i.valid & self.i.ready):
                m.d.sync += wanted.eq(0)
                m.next = "IDLE"
        with m.Else():
            m.d.comb += [self.i.ready.eq(1), moves.eq(self.i.valid)]
        with m.If(exhausted & ~self.i.valid):
            m.d.sync += wanted.eq(0)
            m.next = "SWALLOW"
