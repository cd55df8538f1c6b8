"""The packets of one node that wait to be sent, or for their echo."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from .config import RingConfig
from .symbol import PLACE_BITS, PacketFlit, RingHead

EVENTS = ("bad_route", "stray", "cut", "oversized")


class Sends(wiring.Component):
    """Places for `sends` packets, taken and freed in order. A packet is sent once all of it is here,
    so that it passes the ring without gaps, and is kept until its echo says that the target has it.

    A refused packet is sent again, the oldest first. As long as there are any, no packet is sent
    for the first time: the target takes them in order (`Stripper`).

    Members
    -------
    number : ``In``, the node's
    i : ``In(stream of Flit)``, from the NIC
    o : ``Out(stream of PacketFlit)``, to the ring, each packet without a pause. Not as of other streams,
        another packet may be offered until a HEAD has left: one that is refused goes first
    echoed, place, busy : ``In``, the echo of a packet came
    bad_route, stray, cut, oversized : ``Out(1)``, a slot's events: a packet for no node was dropped, a
        flit outside a packet was, a packet without TAIL was, a packet of too many flits was
    again : ``Out(1)``, a packet is refused and will be sent again
    quiet : ``Out(1)``, no place is taken, and none will be until a HEAD comes
    """

    def __init__(self, config: RingConfig):
        self.config = config
        super().__init__(
            {
                "number": In(range(config.ports)),
                "i": In(stream.Signature(Flit)),
                "o": Out(stream.Signature(PacketFlit)),
                "echoed": In(1),
                "place": In(PLACE_BITS),
                "busy": In(1),
                **{name: Out(1) for name in EVENTS},
                "again": Out(1),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count, longest = self.config.sends, self.config.packet
        m.submodules.flits = flits = memory.Memory(shape=Flit, depth=count << (longest - 1).bit_length(), init=[])
        lengths = Signal(data.ArrayLayout(range(longest + 1), count))
        held, fresh, refused = Signal(count), Signal(count), Signal(count)  # taken; never sent; to be sent again
        waiting = Signal(count)  # refused once, and not taken since
        at = Signal(range(longest))  # of the packet under way
        last, leaves = Signal(), Signal()  # the flit that is offered is a TAIL; it leaves
        sending, current = Signal(), Signal(range(max(count, 2)))
        fill, send = Signal(range(count)), Signal(range(count))
        self._fill(m, flits, lengths, held, fresh, fill, Mux(sending, current == fill, 0))
        self._choose(m, fresh, refused, waiting, send, sending, current)
        chosen = self._chosen
        read = flits.read_port(domain="comb")
        m.d.comb += [
            read.addr.eq(Cat(at, chosen[: (count - 1).bit_length()])),
            self.o.payload.flit.eq(read.data),
            self.o.payload.last.eq(last),
            last.eq(at == lengths[chosen] - 1),
            leaves.eq(self.o.valid & self.o.ready),
            self.quiet.eq(~held.any() & ~sending & self._rests),
            self.again.eq(self.echoed & self.busy),
        ]
        with m.If(leaves):
            m.d.sync += [at.eq(Mux(last, 0, at + 1)), sending.eq(~last), current.eq(chosen)]
        with m.If(leaves & (at == 0)):
            m.d.sync += [fresh.bit_select(chosen, 1).eq(0), refused.bit_select(chosen, 1).eq(0)]
            with m.If(fresh.bit_select(chosen, 1)):
                m.d.sync += send.eq(send + 1)
        with m.If(self.echoed):
            m.d.sync += waiting.bit_select(self.place, 1).eq(self.busy)
            with m.If(self.busy):
                m.d.sync += refused.bit_select(self.place, 1).eq(1)
            with m.Else():
                m.d.sync += held.bit_select(self.place, 1).eq(0)
        return m

    def _choose(self, m, fresh, refused, waiting, send, sending, current):
        """Choose the packet to send: of those to be sent again the oldest, else the next that is fresh."""
        count = self.config.sends
        oldest, chosen = Signal(range(max(count, 2))), Signal(range(max(count, 2)))
        with m.If(sending):
            m.d.comb += [chosen.eq(current), self.o.valid.eq(1)]
        with m.Elif(refused.any()):
            m.d.comb += [chosen.eq(oldest), self.o.valid.eq(1)]
        with m.Else():
            m.d.comb += [chosen.eq(send), self.o.valid.eq(fresh.bit_select(send, 1) & ~waiting.any())]
        for distance in reversed(range(count)):  # from the one that was sent first on
            place = Signal(range(max(count, 2)), name=f"place_{distance}")
            m.d.comb += place.eq(send + distance)
            with m.If(refused.bit_select(place, 1)):
                m.d.comb += oldest.eq(place)
        self._chosen = chosen

    def _fill(self, m, flits, lengths, held, fresh, fill, reads):
        """Packets from the NIC go to the places in turn. `reads`: the place is still being sent from."""
        longest = self.config.packet
        flit = self.i.payload
        is_head, is_tail = flit.kind == Kind.HEAD, flit.kind == Kind.TAIL
        target, one = flit.data[24:28], flit.data[28:32] == 0b1000
        known = one & (target < self.config.ports)
        head = Signal(RingHead)
        come = Signal(range(longest + 1))
        write = flits.write_port()
        self._rests = Signal()
        m.d.comb += [
            head.target.eq(target),
            head.source.eq(self.number),
            head.place.eq(fill),
            write.addr.eq(Cat(Mux(is_head, 0, come)[: (longest - 1).bit_length()], fill[: len(held).bit_length() - 1])),
            write.data.kind.eq(flit.kind),
            write.data.data.eq(Mux(is_head, head, flit.data)),
        ]
        begins = Signal()
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self._rests.eq(1)
                with m.If(self.i.valid & ~is_head):
                    m.d.comb += [self.i.ready.eq(1), self.stray.eq(1)]
                with m.Elif(self.i.valid & ~known):
                    m.d.comb += [self.i.ready.eq(1), self.bad_route.eq(1)]
                    m.next = "SWALLOW"
                with m.Elif(self.i.valid & ~held.bit_select(fill, 1) & ~reads):
                    m.d.comb += begins.eq(1)
                    m.next = "FILL"
            with m.State("FILL"):
                with m.If(self.i.valid & is_head):
                    m.d.comb += self.cut.eq(1)
                    m.next = "IDLE"
                with m.Elif(self.i.valid & (come == longest)):
                    m.d.comb += self.oversized.eq(1)
                    m.next = "SWALLOW"
                with m.Elif(self.i.valid):
                    m.d.comb += [self.i.ready.eq(1), write.en.eq(1)]
                    m.d.sync += come.eq(come + 1)
                    with m.If(is_tail):
                        m.d.sync += [
                            lengths[fill].eq(come + 1),
                            held.bit_select(fill, 1).eq(1),
                            fresh.bit_select(fill, 1).eq(1),
                            fill.eq(fill + 1),
                        ]
                        m.next = "IDLE"
            with m.State("SWALLOW"):
                m.d.comb += self.i.ready.eq(~is_head)
                with m.If(self.i.valid & (is_tail | is_head)):
                    m.next = "IDLE"
        with m.If(begins):
            m.d.comb += [self.i.ready.eq(1), write.en.eq(1)]
            m.d.sync += come.eq(1)
