"""The link, or the flits of a link's end, as AXI4-Streams."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind, LinkPort
from ..queue import Queue
from .axi import mirrored

DEPTH = 16  # flits between a link and its stream
IN_FLIGHT = 4  # of them for what still comes after STOP: it and the flit pass registers
CARRIED = (Kind.HEAD, Kind.DATA, Kind.TAIL, Kind.CHECK)


class FlitStream(wiring.Signature):
    """An AXI4-Stream of flits, seen from its sender. `tuser` is the kind (1 HEAD, 2 DATA, 3 TAIL, 4 CHECK, and 7
    DOWN where a packet was cut), `tlast` stands with the last flit of a packet. `tdata` has the first byte of the
    word in bits 0 to 7: a HEAD's route word, a DATA's four bytes, the CRC of TAIL and CHECK."""

    def __init__(self):
        super().__init__({"tdata": Out(32), "tuser": Out(3), "tlast": Out(1), "tvalid": Out(1), "tready": In(1)})


class FlitsToStream(wiring.Component):
    """A stream of flits that is one already. Members: `i`, ``In(stream.Signature(Flit))``; `o`,
    ``Out(FlitStream())``."""

    i: In(stream.Signature(Flit))
    o: Out(FlitStream())

    def elaborate(self, platform):
        m = Module()
        kind = self.i.payload.kind
        m.d.comb += [
            self.o.tdata.eq(mirrored(self.i.payload.data)),
            self.o.tuser.eq(kind),
            self.o.tlast.eq((kind == Kind.TAIL) | (kind == Kind.DOWN)),
            self.o.tvalid.eq(self.i.valid),
            self.i.ready.eq(self.o.tready),
        ]
        return m


class StreamToFlits(wiring.Component):
    """The other way. A transfer of a kind that no packet has is taken and dropped; `tlast` is not looked at: a TAIL
    ends the packet. Members: `i`, ``In(FlitStream())``; `o`, ``Out(stream.Signature(Flit))``."""

    i: In(FlitStream())
    o: Out(stream.Signature(Flit))

    def elaborate(self, platform):
        m = Module()
        carried = Signal()
        with m.Switch(self.i.tuser):
            with m.Case(*(kind.value for kind in CARRIED)):
                m.d.comb += carried.eq(1)
        m.d.comb += [
            self.o.payload.kind.eq(self.i.tuser),
            self.o.payload.data.eq(mirrored(self.i.tdata)),
            self.o.valid.eq(self.i.tvalid & carried),
            self.i.tready.eq(self.o.ready | ~carried),
        ]
        return m


class LinkToStream(wiring.Component):
    """Sends on what leaves on a link, as a stream; while that is not taken the link is told STOP. A packet that the
    loss of the carrier cuts ends with a DOWN. `carrier` follows the link's.

    Members: `link`, ``In(LinkPort())``; `o`, ``Out(FlitStream())``; `carrier`, ``Out(1)``.
    """

    link: In(LinkPort())
    o: Out(FlitStream())
    carrier: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.flits = flits = Queue(Flit, DEPTH)
        m.submodules.convert = convert = FlitsToStream()
        wiring.connect(m, flits.o, convert.i)
        wiring.connect(m, convert.o, wiring.flipped(self.o))
        kind, inside, down = self.link.kind, Signal(), Signal()
        m.d.comb += [
            down.eq(kind == Kind.DOWN),
            flits.i.valid.eq((kind != Kind.IDLE) & (~down | inside)),
            flits.i.payload.kind.eq(kind),
            flits.i.payload.data.eq(self.link.data),
        ]
        m.d.sync += [self.link.stop.eq(flits.free <= IN_FLIGHT), self.carrier.eq(~down)]
        with m.If((kind == Kind.TAIL) | down):
            m.d.sync += inside.eq(0)
        with m.Elif(kind != Kind.IDLE):
            m.d.sync += inside.eq(1)
        return m


class StreamToLink(wiring.Component):
    """A stream that comes to a link, whose STOP holds it. Without `carrier` the link is down and takes nothing.

    Members: `i`, ``In(FlitStream())``; `link`, ``Out(LinkPort())``, registered; `carrier`, ``In(1)``.
    """

    i: In(FlitStream())
    link: Out(LinkPort())
    carrier: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.convert = convert = StreamToFlits()
        wiring.connect(m, wiring.flipped(self.i), convert.i)
        m.d.comb += convert.o.ready.eq(~self.link.stop & self.carrier)
        m.d.sync += [self.link.kind.eq(Kind.IDLE), self.link.data.eq(convert.o.payload.data)]
        with m.If(~self.carrier):
            m.d.sync += self.link.kind.eq(Kind.DOWN)
        with m.Elif(convert.o.valid & convert.o.ready):
            m.d.sync += self.link.kind.eq(convert.o.payload.kind)
        return m
