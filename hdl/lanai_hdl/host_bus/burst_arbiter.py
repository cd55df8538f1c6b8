"""Several engines on the one burst port of the host bus."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..round_robin import next_in_turn
from .ports import BURST_BITS, BurstPort


class BurstArbiter(wiring.Component):
    """Gives the burst port to one engine at a time, for one burst: from the slot in which the burst
    is taken until its last word has crossed.

    A write burst ends when the host has answered its last word, a read burst when the engine has
    taken its last word. So all words under way belong to one engine and one direction. Engines that
    ask are served in turn: after engine i, the next one behind it that asks. An engine waits for at
    most one burst of each other engine.

    Parameters
    ----------
    engines : how many, at least 1

    Members
    -------
    engine_<i> : ``In(BurstPort())``, for i from 0
    bus : ``Out(BurstPort())``, to `HostBus`
    idle : ``Out(1)``, no burst is under way and none is asked for
    """

    def __init__(self, engines: int):
        if engines < 1:
            raise ValueError(f"engines={engines!r} must be at least 1")
        self.engines = engines
        members = {f"engine_{i}": In(BurstPort()) for i in range(engines)}
        super().__init__({**members, "bus": Out(BurstPort()), "idle": Out(1)})

    def ports(self):
        """The engines' ports, in order."""
        return [getattr(self, f"engine_{i}") for i in range(self.engines)]

    def elaborate(self, platform):
        m = Module()
        ports, bus = self.ports(), self.bus
        owner = Signal(range(max(self.engines, 2)))
        left = Signal(BURST_BITS)  # words of the burst under way that have not crossed
        unsent = Signal(BURST_BITS)  # ... of a write burst, that its engine has not handed over
        write = Signal()
        offered = Signal()  # the burst of `owner`, in the slot before; it must not change until it is taken
        next_ = next_in_turn(m, Cat(port.burst.valid for port in ports), owner)
        chosen = Signal.like(owner)
        asks = Array(port.burst.valid for port in ports)[chosen]
        busy = Signal()
        moved = Signal()
        m.d.comb += [
            chosen.eq(Mux(offered, owner, next_)),
            busy.eq(left != 0),
            bus.burst.valid.eq(~busy & asks),
            bus.burst.payload.eq(Array(port.burst.payload for port in ports)[chosen]),
            moved.eq(Mux(write, bus.written, bus.read.valid & bus.read.ready)),
            self.idle.eq(~busy & ~asks),
        ]
        m.d.sync += offered.eq(bus.burst.valid & ~bus.burst.ready)
        with m.If(bus.burst.valid):
            m.d.sync += owner.eq(chosen)
        with m.If(bus.burst.valid & bus.burst.ready):
            m.d.sync += [
                write.eq(bus.burst.payload.write),
                left.eq(bus.burst.payload.words),
                unsent.eq(Mux(bus.burst.payload.write, bus.burst.payload.words, 0)),
            ]
        with m.Elif(busy & moved):
            m.d.sync += left.eq(left - 1)
        for i, port in enumerate(ports):
            m.d.comb += port.burst.ready.eq(bus.burst.ready & ~busy & (chosen == i))
            self._join_data(m, port, busy & (owner == i), write, unsent)
        with m.If(bus.write.valid & bus.write.ready):
            m.d.sync += unsent.eq(unsent - 1)
        return m

    def _join_data(self, m, port, owns, write, unsent):
        """An engine may offer words of its next burst early: only those of the burst under way
        pass."""
        bus = self.bus
        sends = owns & (unsent != 0)
        m.d.comb += [
            port.read.payload.eq(bus.read.payload),
            port.read.valid.eq(bus.read.valid & owns & ~write),
            port.write.ready.eq(bus.write.ready & sends),
            port.written.eq(bus.written & owns),
            port.refused.eq(bus.refused),
        ]
        with m.If(owns):
            m.d.comb += [
                bus.write.valid.eq(port.write.valid & (unsent != 0)),
                bus.write.payload.eq(port.write.payload),
                bus.read.ready.eq(port.read.ready & ~write),
            ]
