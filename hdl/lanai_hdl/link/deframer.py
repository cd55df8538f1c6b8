"""Finds packets in the flits that come, and judges them."""

from amaranth import Module, Signal
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from .crc import WordCrc
from .csr import LINK
from .flit import Flit, Kind


class PartKind(enum.Enum, shape=2):
    """A packet to the receive DMA is one START, then WORDs and CHECKED in any number, then one
    END."""

    START = 0
    WORD = 1
    CHECKED = 2  # the words so far have proved sound
    END = 3


class Part(data.Struct):
    """`data` counts for WORD, the flags for END."""

    data: 32
    kind: PartKind
    bad_crc: 1
    truncated: 1


class Deframer(NicBlock):
    """Turns flits into parts of packets; every START gets its END, whatever the wire does.

    Members: `i`, `o` streams; `up`, the carrier: when it is gone and no flit is left, a packet
    under way ends truncated. Dropped, with an event each: packets whose HEAD still names a hop
    (`misrouted`), flits outside a packet (`stray`). `idle` between packets. `o` depends on `i`
    within the slot.
    """

    i: In(stream.Signature(Flit))
    o: Out(stream.Signature(Part))
    up: In(1)
    misrouted: Out(1)
    stray: Out(1)
    idle: Out(1)

    def raises(self):
        yield Raises(LINK.events.LINK_ERROR, self.stray)
        yield Raises(LINK.events.LINK_ERROR, self.misrouted)

    def counts(self):
        yield Counts(LINK.counters.RX_MISROUTED, self.misrouted)
        yield Counts(LINK.counters.RX_STRAYS, self.stray)

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = WordCrc()
        flit, part = self.i.payload, self.o.payload
        took = Signal()
        wrong = Signal()  # a CHECK of this packet failed
        differs = Signal()
        lost = Signal()
        m.d.comb += [
            took.eq(self.i.valid & self.i.ready),
            differs.eq(flit.data != crc.crc),
            lost.eq(~self.up & ~self.i.valid),
            part.data.eq(flit.data),
            crc.data.eq(flit.data),
        ]
        with m.FSM():
            with m.State("BETWEEN"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.i.valid & (flit.kind == Kind.HEAD) & ~flit.data[31]):
                    m.d.comb += [self.o.valid.eq(1), part.kind.eq(PartKind.START), self.i.ready.eq(self.o.ready)]
                    m.d.sync += wrong.eq(0)
                    with m.If(took):
                        m.d.comb += crc.start.eq(1)
                        m.next = "BODY"
                with m.Elif(self.i.valid):
                    m.d.comb += self.i.ready.eq(1)
                    with m.If(flit.kind == Kind.HEAD):
                        m.d.comb += self.misrouted.eq(1)
                        m.next = "DROP"
                    with m.Else():
                        m.d.comb += self.stray.eq(1)
            with m.State("BODY"):
                with m.If(lost):
                    self._end(m, took=0, truncated=1, bad_crc=wrong)
                with m.Elif(self.i.valid):
                    self._pass_on(m, crc, took, differs, wrong)
            with m.State("DROP"):
                with m.If(lost | (self.i.valid & (flit.kind == Kind.HEAD))):
                    m.next = "BETWEEN"
                with m.Elif(self.i.valid):
                    m.d.comb += self.i.ready.eq(1)
                    with m.If(flit.kind == Kind.TAIL):
                        m.next = "BETWEEN"
        return m

    def _pass_on(self, m, crc, took, differs, wrong):
        """State BODY: the part that the flit becomes."""
        flit, part = self.i.payload, self.o.payload
        with m.Switch(flit.kind):
            with m.Case(Kind.DATA):
                m.d.comb += [self.o.valid.eq(1), part.kind.eq(PartKind.WORD)]
                m.d.comb += [self.i.ready.eq(self.o.ready), crc.valid.eq(took)]
            with m.Case(Kind.CHECK):
                m.d.comb += [self.o.valid.eq(~differs), part.kind.eq(PartKind.CHECKED)]
                m.d.comb += self.i.ready.eq(self.o.ready | differs)
                with m.If(differs):
                    m.d.sync += wrong.eq(1)
            with m.Case(Kind.TAIL):
                self._end(m, took=1, truncated=0, bad_crc=wrong | differs)
            with m.Default():  # a HEAD, which begins the next packet
                self._end(m, took=0, truncated=1, bad_crc=wrong)

    def _end(self, m, *, took, truncated, bad_crc):
        part = self.o.payload
        m.d.comb += [
            self.o.valid.eq(1),
            part.kind.eq(PartKind.END),
            part.truncated.eq(truncated),
            part.bad_crc.eq(bad_crc),
            self.i.ready.eq(self.o.ready & took),
        ]
        with m.If(self.o.ready):
            m.next = "BETWEEN"
