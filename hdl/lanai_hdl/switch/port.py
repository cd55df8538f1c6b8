"""The sending half of a switch port."""

from amaranth import Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..link.flit import Flit, Kind, LinkPort
from ..link.limiter import RateLimiter


class SwitchTransmitter(wiring.Component):
    """Sends flits as they are (a switch passes CRCs on untouched) while the link's rate, STOP and
    carrier allow.

    Without a carrier flits are discarded, so that a dead cable holds nothing up; `dropped` marks
    each. `link` is registered: a flit leaves in the slot after it is offered. `idle` while no flit
    waits and the rate limiter is at rest.
    """

    i: In(stream.Signature(Flit))
    link: Out(LinkPort())
    up: In(1)
    sent: Out(1)
    dropped: Out(1)
    idle: Out(1)

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.limiter = limiter = RateLimiter(self.config)
        m.d.comb += [
            self.sent.eq(self.i.valid & self.up & ~self.link.stop & limiter.ready),
            self.dropped.eq(self.i.valid & ~self.up),
            self.i.ready.eq(~self.up | (~self.link.stop & limiter.ready)),
            limiter.take.eq(self.sent),
            self.idle.eq(~self.i.valid & limiter.full & (self.link.kind == Kind.IDLE)),
        ]
        m.d.sync += self.link.kind.eq(Mux(self.sent, self.i.payload.kind, Kind.IDLE))
        with m.If(self.sent):
            m.d.sync += self.link.data.eq(self.i.payload.data)
        return m
