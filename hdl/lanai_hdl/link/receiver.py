"""Takes flits from the wire."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..queue import Queue
from ..run_time import numbers
from .csr import LINK
from .flit import Flit, Kind, LinkPort


class LinkReceiver(NicBlock):
    """A FIFO of flits, with STOP raised while what may be in flight would no longer fit.

    Members: `link`; `o`, flits other than IDLE and DOWN; `up`, the carrier. Events of a slot:
    `received`, `raised` (STOP), `overflow` (a flit was lost, which takes a sender that ignores
    STOP), `fell` (the carrier). `idle` while nothing has come or waits and there is a carrier: a NIC without one is
    evaluated in each slot, so that it sees it come. `link.stop` is registered. A flit can be read two slots after it
    stood on `link`.
    """

    link: In(LinkPort())
    o: Out(stream.Signature(Flit))
    up: Out(1, init=1)
    received: Out(1)
    raised: Out(1)
    overflow: Out(1)
    fell: Out(1)
    idle: Out(1)

    def __init__(self, config: NicConfig):
        self.config = config
        self.fifo = Queue(Flit, config.rx_fifo)
        self.kind = Signal(Kind)  # as it came in the last slot
        super().__init__()

    def raises(self):
        yield Raises(LINK.events.LINK_ERROR, self.fell)
        yield Raises(LINK.events.LINK_ERROR, self.overflow)

    def counts(self):
        counters = LINK.counters
        yield Counts(counters.RX_FLITS, self.received)
        yield Counts(counters.RX_STOPS, self.raised)
        yield Counts(counters.RX_OVERFLOWS, self.overflow)
        yield Counts(counters.LINK_DOWNS, self.fell)

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = fifo = self.fifo
        wiring.connect(m, fifo.o, wiring.flipped(self.o))
        kind, data = self.kind, Signal(32)
        full = fifo.free <= numbers(self.config, platform).rx_slack
        m.d.sync += [
            kind.eq(self.link.kind),
            data.eq(self.link.data),
            self.up.eq(kind != Kind.DOWN),
            self.link.stop.eq(full),
        ]
        m.d.comb += [
            self.received.eq((kind != Kind.IDLE) & (kind != Kind.DOWN)),
            fifo.i.valid.eq(self.received),
            fifo.i.payload.kind.eq(kind),
            fifo.i.payload.data.eq(data),
            self.overflow.eq(self.received & ~fifo.i.ready),
            self.raised.eq(full & ~self.link.stop),
            self.fell.eq(self.up & (kind == Kind.DOWN)),
            self.idle.eq((kind == Kind.IDLE) & (fifo.level == 0) & self.up & ~self.link.stop),
        ]
        return m
