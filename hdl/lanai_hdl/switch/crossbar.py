"""The crossbar: every input's stream to the output that granted it."""

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit
from .arbiter import HoldingArbiter
from .input import SwitchInput


class Crossbar(wiring.Component):
    """Wormhole routing between streams: `SwitchInput` at every input, `HoldingArbiter` at every
    output.

    Latency: 0 slots from input to output once granted; a HEAD waits one slot to be read and one to
    be granted.

    Members
    -------
    i, o : ``ports`` streams of flits each way
    bad_route, blocked, stray : ``Out(ports)``, one-slot marks by input
    idle : ``Out(1)``, no grant is about to change
    """

    def __init__(self, ports: int, blocked_slots: int = 0):
        self._ports = ports
        self._timeout = blocked_slots
        super().__init__(
            {
                "i": In(stream.Signature(Flit)).array(ports),
                "o": Out(stream.Signature(Flit)).array(ports),
                "bad_route": Out(ports),
                "blocked": Out(ports),
                "stray": Out(ports),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        inputs = [SwitchInput(self._ports, self._timeout) for _ in range(self._ports)]
        arbiters = [HoldingArbiter(self._ports) for _ in range(self._ports)]
        for n, (block, arbiter) in enumerate(zip(inputs, arbiters, strict=True)):
            m.submodules[f"input{n}"] = block
            m.submodules[f"arbiter{n}"] = arbiter
            wiring.connect(m, block.i, wiring.flipped(self.i[n]))

        for n, block in enumerate(inputs):
            m.d.comb += [
                block.grant.eq(Cat(arbiter.grant[n] & arbiter.request[n] for arbiter in arbiters).any()),
                block.o.ready.eq(
                    Cat(arbiter.grant[n] & o.ready for arbiter, o in zip(arbiters, self.o, strict=True)).any()
                ),
                self.bad_route[n].eq(block.bad_route),
                self.blocked[n].eq(block.blocked),
                self.stray[n].eq(block.stray),
            ]
        m.d.comb += self.idle.eq(
            Cat((a.grant.any() == a.request.any()) & ~(a.grant & ~a.request).any() for a in arbiters).all()
        )
        for n, (arbiter, o) in enumerate(zip(arbiters, self.o, strict=True)):
            m.d.comb += arbiter.request.eq(Cat(block.request[n] for block in inputs))
            for source, block in enumerate(inputs):
                with m.If(arbiter.grant[source] & block.request[n]):
                    m.d.comb += [o.valid.eq(block.o.valid), o.payload.eq(block.o.payload)]
        return m
