"""One node of the ring."""

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from .config import RingConfig
from .inserter import Inserter
from .sends import EVENTS, Sends
from .stripper import Stripper
from .symbol import GO, Symbol


class RingNode(wiring.Component):
    """Strips its packets, lets others pass, and inserts those of its NIC (SC-07).

    Members
    -------
    i, o : ``In(Symbol)``, ``Out(Symbol)``, the links; `o` comes `hop` slots behind `i`, registered
    sends : ``In(stream of Flit)``, from the NIC
    room, delivers, flit : to the NIC, as of `Stripper`
    bad_route, stray, cut, oversized, again : events, as of `Sends`
    quiet : ``Out(1)``, nothing changes while idle symbols that say go come, and no flit from the NIC
    """

    def __init__(self, config: RingConfig, number: int):
        self.config = config
        self.number = number
        super().__init__(
            {
                "i": In(Symbol),
                "o": Out(Symbol, init=GO),
                "sends": In(stream.Signature(Flit)),
                "room": In(1),
                "delivers": Out(1),
                "flit": Out(Flit),
                **{name: Out(1) for name in (*EVENTS, "again")},
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.stripper = stripper = Stripper(self.config)
        m.submodules.inserter = inserter = Inserter(self.config)
        m.submodules.packets = packets = Sends(self.config)
        wiring.connect(m, wiring.flipped(self.sends), packets.i)
        wiring.connect(m, packets.o, inserter.own)
        wire = [Signal(Symbol, init=GO, name=f"wire_{n}") for n in range(self.config.hop - 1)]
        for before, after in zip([self.i, *wire], wire, strict=False):
            m.d.sync += after.eq(before)
        m.d.comb += [
            stripper.number.eq(self.number),
            stripper.i.eq(wire[-1] if wire else self.i),
            stripper.room.eq(self.room),
            self.delivers.eq(stripper.delivers),
            self.flit.eq(stripper.flit),
            inserter.i.eq(stripper.o),
            self.o.eq(inserter.o),
            packets.number.eq(self.number),
            packets.echoed.eq(stripper.echoed),
            packets.place.eq(stripper.place),
            packets.busy.eq(stripper.busy),
            *(getattr(self, name).eq(getattr(packets, name)) for name in (*EVENTS, "again")),
        ]
        still = [(symbol.kind == Kind.IDLE) & symbol.go for symbol in (self.i, *wire)]
        m.d.comb += self.quiet.eq(Cat(still).all() & inserter.quiet & packets.quiet)
        return m
