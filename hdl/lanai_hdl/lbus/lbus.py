"""The LBUS: one SRAM, one access a slot, a list of masters (NP-55..58)."""

from collections.abc import Sequence

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..control.csr import CONTROL
from ..sram.memory import SramPort
from .csr import LBUS
from .masters import MASTERS, Edge, Master

ADDRESS_BITS = 20


class LbusMaster(wiring.Signature):
    """A master's port to the LBUS, seen from the master.

    `request` with `write`, `addr` (byte address, word aligned), `wdata`, `be` (bit 3 is the byte at
    `addr`) hold until `grant`, which comes in the same slot and performs the access. `rdata`
    belongs to a granted read in the slot after its grant.
    """

    def __init__(self):
        super().__init__(
            {
                "request": Out(1),
                "write": Out(1),
                "addr": Out(ADDRESS_BITS),
                "wdata": Out(32),
                "be": Out(4),
                "grant": In(1),
                "rdata": In(32),
            }
        )


def master_bits(masters: Sequence[Master]) -> data.StructLayout:
    """A bit for each master, by its name, in the order of the list."""
    return data.StructLayout({master.name: 1 for master in masters})


class SlotArbiter(wiring.Component):
    """Grants each slot to one master (NP-56), combinationally.

    Within an edge the order of the list is the order of priority. The last master, the processor,
    is served on both edges after all others.

    Parameters
    ----------
    masters : each but the last is served on one edge, the last on both

    Members
    -------
    odd : ``In(1)``, the slot's parity: even is the rising edge of the processor clock, odd the
        falling one
    request, grant : a bit for each master. At most one bit of `grant` is set, and only where
        `request` is.
    engine : ``Out(1)``, a master other than the processor has the slot
    """

    def __init__(self, masters: Sequence[Master] = MASTERS):
        *engines, processor = masters
        if processor.edge is not Edge.BOTH:
            raise ValueError(f"the last master, {processor.name!r}, must be served on both edges")
        for master in engines:
            if master.edge is Edge.BOTH:
                raise ValueError(f"only the last master is served on both edges, not {master.name!r}")
        self._engines = engines
        self._processor = processor
        bits = master_bits(masters)
        super().__init__({"odd": In(1), "request": In(bits), "grant": Out(bits), "engine": Out(1)})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.odd):
            self._serve(m, Edge.FALLING)
        with m.Else():
            self._serve(m, Edge.RISING)
        cpu = self._processor.name
        m.d.comb += self.grant[cpu].eq(self.request[cpu] & ~self.engine)
        return m

    def _serve(self, m, edge):
        """Grants the first of this edge's masters that asks."""
        taken = None
        for master in self._engines:
            if master.edge is edge:
                request = self.request[master.name]
                m.d.comb += self.grant[master.name].eq(request if taken is None else request & ~taken)
                taken = request if taken is None else taken | request
        if taken is not None:
            m.d.comb += self.engine.eq(taken)


class Lbus(NicBlock):
    """Joins the masters to the SRAM.

    The processor alone can name an address beyond the SRAM: engines refuse such descriptors, and
    the host bus such accesses. Its reads there return undefined data, its writes are dropped, and
    `fault` is raised for the slot.

    Parameters
    ----------
    masters : in order of priority, as `SlotArbiter` takes them
    guard : whether the processor's address is checked; false for a processor that traps before it
        asks

    Members
    -------
    <name of a master> : ``In(LbusMaster())``, see also `port`
    odd : ``In(1)``, the slot's parity
    sram : ``Out(SramPort)``
    used, waited : of this slot, a bit for each master: it was granted; it asked on its edge and was
        not granted
    fault : ``Out(1)``
    """

    # The host's access that asks for the reset must be answered.
    survives_reset = True

    def __init__(self, config: NicConfig, masters: Sequence[Master] = MASTERS, *, guard: bool = True):
        self.config = config
        self.masters = tuple(masters)
        self.guard = guard
        bits = master_bits(masters)
        super().__init__(
            {
                **{master.name: In(LbusMaster()) for master in masters},
                "odd": In(1),
                "sram": Out(SramPort(config)),
                "used": Out(bits),
                "waited": Out(bits),
                "fault": Out(1),
            }
        )

    def port(self, master: Master):
        """The port of one of the masters."""
        return getattr(self, master.name)

    def raises(self):
        yield Raises(CONTROL.events.BUS_ERROR, self.fault)

    def counts(self):
        for master in self.masters:
            yield Counts(master.used, self.used[master.name])
            yield Counts(master.waited, self.waited[master.name])
        yield Counts(LBUS.counters.LBUS_FAULTS, self.fault)

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = SlotArbiter(self.masters)
        m.d.comb += [arbiter.odd.eq(self.odd), self.used.eq(arbiter.grant)]
        cpu = self.port(self.masters[-1])
        bound = (self.config.sram_size - 1).bit_length()
        beyond = Signal()
        m.d.comb += [
            beyond.eq(cpu.addr[bound:].any() if self.guard and bound < ADDRESS_BITS else 0),
            self.fault.eq(cpu.grant & beyond),
            self.sram.enable.eq(arbiter.grant.as_value().any() & ~self.fault),
        ]
        self._join(m, arbiter, beyond)
        return m

    def _join(self, m, arbiter, beyond):
        """Connect the masters to the SRAM. An edge's last engine and the processor ask late. So the engine has
        its turn if none before it asks: its own request decides `arbiter.engine` and nothing else. What
        the processor wants passes one multiplexer, which `arbiter.engine` alone controls."""
        *engines, processor = self.masters
        cpu, sram = self.port(processor), self.sram
        falling, rising = (
            [self.port(one) for one in engines if one.edge is edge] for edge in (Edge.FALLING, Edge.RISING)
        )
        for name in ("addr", "write", "wdata", "be"):
            late = arbiter.grant[processor.name] & cpu.write & ~beyond if name == "write" else getattr(cpu, name)
            early = Mux(self.odd, _of_first(falling, name), _of_first(rising, name))
            chosen = Mux(arbiter.engine, early, late)
            m.d.comb += getattr(sram, name).eq(chosen[2:] if name == "addr" else chosen)
        for master in self.masters:
            self._answer(m, master, arbiter)

    def _answer(self, m, master, arbiter):
        port, grant = self.port(master), arbiter.grant[master.name]
        served = {Edge.RISING: ~self.odd, Edge.FALLING: self.odd, Edge.BOTH: 1}[master.edge]
        m.d.comb += [
            arbiter.request[master.name].eq(port.request),
            port.grant.eq(grant),
            port.rdata.eq(self.sram.rdata),
            self.waited[master.name].eq(port.request & ~grant & served),
        ]


def _of_first(ports, name):
    """`name` of the first of `ports` that asks, or of the last one; 0 if there are none."""
    values = [getattr(port, name) for port in ports] or [Const(0)]
    chosen = values.pop()
    for port, value in zip(reversed(ports[:-1]), reversed(values), strict=True):
        chosen = Mux(port.request, value, chosen)
    return chosen
