"""Sends flits down the wire."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock
from ..config import NicConfig
from .crc import WordCrc
from .csr import LINK
from .flit import Flit, Kind, LinkPort
from .limiter import RateLimiter


class LinkTransmitter(NicBlock):
    """Puts the CRC into CHECK and TAIL and sends while the link's rate, STOP and carrier allow.

    Members: `i`, flits of packets; bit 0 of a CHECK's or TAIL's data spoils its CRC. `link`,
    registered. `up`, the carrier as the receiver of the same cable sees it: without it flits are
    discarded, and then all up to the next TAIL, so that nothing waits for a dead link and no headless
    packet follows. Events of a slot: `sent`, `tail` sent, `stopped`, `dropped`. `idle` while no flit
    waits and the rate limiter is at rest. A flit leaves in the slot after it is offered. `i.ready` does
    not depend on `i`.
    """

    i: In(stream.Signature(Flit))
    link: Out(LinkPort())
    up: In(1)
    sent: Out(1)
    tail: Out(1)
    stopped: Out(1)
    dropped: Out(1)
    idle: Out(1)

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__()

    def counts(self):
        counters = LINK.counters
        yield Counts(counters.TX_PACKETS, self.tail)
        yield Counts(counters.TX_FLITS, self.sent)
        yield Counts(counters.TX_STOPPED, self.stopped)
        yield Counts(counters.TX_DROPPED, self.dropped)

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = WordCrc()
        m.submodules.limiter = limiter = RateLimiter(self.config)
        flit = self.i.payload
        damaged = Signal()  # part of this packet was discarded
        discard, passes = Signal(), Signal()
        seals = Signal()  # carries a CRC
        m.d.comb += [
            seals.eq((flit.kind == Kind.TAIL) | (flit.kind == Kind.CHECK)),
            discard.eq(~self.up | damaged),
            passes.eq(~self.link.stop & limiter.ready),
            self.sent.eq(self.i.valid & ~discard & passes),
            self.stopped.eq(self.i.valid & ~discard & self.link.stop),
            self.dropped.eq(self.i.valid & discard),
            self.tail.eq(self.sent & (flit.kind == Kind.TAIL)),
            self.i.ready.eq(discard | passes),
            limiter.take.eq(self.sent),
            crc.start.eq(self.sent & (flit.kind == Kind.HEAD)),
            crc.valid.eq(self.sent & (flit.kind == Kind.DATA)),
            crc.data.eq(flit.data),
            self.idle.eq(~self.i.valid & limiter.full & (self.link.kind == Kind.IDLE)),
        ]
        m.d.sync += self.link.kind.eq(Mux(self.sent, flit.kind, Kind.IDLE))
        with m.If(self.sent):
            m.d.sync += self.link.data.eq(Mux(seals, crc.crc ^ flit.data[0].replicate(32), flit.data))
        with m.If(self.dropped):
            m.d.sync += damaged.eq(flit.kind != Kind.TAIL)
        return m
