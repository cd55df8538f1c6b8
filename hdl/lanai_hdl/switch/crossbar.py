"""The crossbar: every input's stream to the output that granted it."""

from amaranth import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit
from .arbiter import HoldingArbiter
from .input import SwitchInput


class Crossbar(wiring.Component):
    """Wormhole routing between streams: `SwitchInput` at every input, `HoldingArbiter` at every
    output.

    With `multicast` a packet may go to several outputs. Each of its flits leaves by all of them in one
    slot, so the slowest one holds up the others. An output that such a packet has waits for those
    that it has not. They are held by packets to one output, which wait for none, so it gets them.

    Latency: 0 slots from input to output once granted; a HEAD waits one slot to be read and one to
    be granted.

    Members
    -------
    i, o : ``ports`` streams of flits each way
    bad_route, blocked, stray : ``Out(ports)``, one-slot marks by input
    idle : ``Out(1)``, no grant is about to change
    """

    def __init__(self, ports: int, blocked_slots: int = 0, *, multicast: bool = False):
        self._ports = ports
        self._multicast = multicast
        self.inputs = [SwitchInput(ports, blocked_slots, multicast=multicast) for _ in range(ports)]
        self.arbiters = [HoldingArbiter(ports) for _ in range(ports)]
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
        inputs, arbiters = self.inputs, self.arbiters
        for n, (block, arbiter) in enumerate(zip(inputs, arbiters, strict=True)):
            m.submodules[f"input{n}"] = block
            m.submodules[f"arbiter{n}"] = arbiter
            wiring.connect(m, block.i, wiring.flipped(self.i[n]))

        for n, block in enumerate(inputs):
            granted, ready = self._paths(n, block, arbiters)
            m.d.comb += [
                block.grant.eq(granted),
                block.o.ready.eq(ready),
                self.bad_route[n].eq(block.bad_route),
                self.blocked[n].eq(block.blocked),
                self.stray[n].eq(block.stray),
            ]
        turns = self._turns(m, inputs) if self._multicast else []
        m.d.comb += self.idle.eq(
            Cat((a.grant.any() == a.request.any()) & ~(a.grant & ~a.request).any() for a in (*arbiters, *turns)).all()
        )
        for n, (arbiter, o) in enumerate(zip(arbiters, self.o, strict=True)):
            m.d.comb += arbiter.request.eq(Cat(block.request[n] for block in inputs))
            for source, block in enumerate(inputs):
                with m.If(arbiter.grant[source] & block.request[n]):
                    m.d.comb += [o.valid.eq(self._leaves(block)), o.payload.eq(block.o.payload)]
        return m

    def _paths(self, n, block, arbiters):
        """Return two bits: an input has all outputs that it needs, and they take a flit."""
        if self._multicast:
            has = Cat(arbiter.grant[n] & arbiter.request[n] for arbiter in arbiters)
            takes = Cat(arbiter.grant[n] & o.ready for arbiter, o in zip(arbiters, self.o, strict=True))
            return (has == block.request) & has.any(), (takes | ~block.request).all() & block.request.any()
        return (
            Cat(arbiter.grant[n] & arbiter.request[n] for arbiter in arbiters).any(),
            Cat(arbiter.grant[n] & o.ready for arbiter, o in zip(arbiters, self.o, strict=True)).any(),
        )

    def _turns(self, m, inputs):
        """One input at a time may ask for several outputs."""
        m.submodules.turns = turns = HoldingArbiter(self._ports)
        m.d.comb += turns.request.eq(Cat(block.several for block in inputs))
        for n, block in enumerate(inputs):
            m.d.comb += block.turn.eq(turns.grant[n])
        return [turns]

    def _leaves(self, block):
        """A flit to several outputs leaves when all of them take it."""
        return block.o.valid & (~block.several | block.o.ready) if self._multicast else block.o.valid
