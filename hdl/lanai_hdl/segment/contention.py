"""The contention for a wire on which NICs collide, as on Ethernet (CSMA/CD)."""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..run_time import numbers
from .config import Backoff

GROWS = 10  # collisions in a row up to which the range of the back-off doubles (IEEE 802.3)
SEED = 0x9E37  # of station 0; those of the others are odd multiples
TAPS = (0, 2, 3, 5)  # of a shift register of 16 bits with the longest period


class Contention(wiring.Component):
    """Grants a silent wire to a station that is alone in wanting it. Several collide.

    A station that asks begins as soon as the wire is silent and its back-off has passed. Stations
    that begin in the same slot collide. That takes `Backoff.collision` slots. Then each waits for a
    random number of `Backoff.slot`: 0 or 1 after its first collision in a row, of twice as many
    after each further one, up to the tenth. A station never gives up. The wire has no length: who
    begins a slot later hears the first and waits. Random numbers follow from the slots in which
    stations ask, so two runs are the same.

    Parameters
    ----------
    requesters : number of stations, at least 1
    times : in slots

    Members
    -------
    request : ``In(requesters)``; bit i held high from asking until the packet has passed
    silent : ``In(1)``, the wire is. It is not in the slot after a packet's last flit.
    grant : ``Out(requesters)``, at most one bit, registered
    collided : ``Out(1)``, high for one slot: several began
    """

    def __init__(self, requesters: int, times: Backoff):
        if requesters < 1:
            raise ValueError(f"requesters={requesters!r} must be at least 1")
        self._requesters = requesters
        self._times = times
        super().__init__({"request": In(requesters), "silent": In(1), "grant": Out(requesters), "collided": Out(1)})

    def elaborate(self, platform):
        m = Module()
        count, times = self._requesters, numbers(self._times, platform)
        begin, jam = Signal(count), Signal(range(self._times.collision + 1))
        free, several = Signal(), Signal()
        m.d.comb += [
            free.eq(~(self.grant & self.request).any() & ~jam.any() & self.silent),
            several.eq((begin & (begin - 1)[:count]).any()),
            self.collided.eq(free & several),
        ]
        m.d.sync += jam.eq(Mux(self.collided, times.collision, Mux(jam.any(), jam - 1, 0)))
        with m.If(~(self.grant & self.request).any()):
            m.d.sync += self.grant.eq(Mux(free & ~several, begin, 0))
        for n in range(count):
            m.d.comb += begin[n].eq(self._station(m, n, free, times))
        return m

    def _station(self, m, n, free, times):
        """High if station n begins once the wire is free."""
        collisions, wait = Signal(range(GROWS + 1)), Signal(range(self._times.longest + 1))
        random = Signal(16, init=SEED * (2 * n + 1) & 0xFFFF)
        ranges = Array(Const((1 << n) - 1, GROWS) for n in range(GROWS + 1))
        begins, after = Signal(), Signal(range(GROWS + 1))
        m.d.comb += [
            begins.eq(self.request[n] & ~wait.any()),
            after.eq(Mux(collisions == GROWS, GROWS, collisions + 1)),
        ]
        with m.If(self.request.any()):
            m.d.sync += random.eq(Cat(random[1:], Cat(random[tap] for tap in TAPS).xor()))
        with m.If(begins & self.collided):
            m.d.sync += [collisions.eq(after), wait.eq(times.collision + (random & ranges[after]) * times.slot)]
        with m.Else():
            m.d.sync += wait.eq(Mux(wait.any(), wait - 1, 0))
        with m.If(begins & free & ~self.collided):
            m.d.sync += collisions.eq(0)
        return begins
