"""The LBUS: one SRAM, one access a slot, five requesters (NP-55..58)."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..sram.memory import SramPort

ADDRESS_BITS = 20


class LbusMaster(wiring.Signature):
    """A requester's door to the LBUS, seen from the requester.

    `request` with `write`, `addr` (byte address, word aligned), `wdata`, `be` (bit 3 is the byte at `addr`) hold until `grant`, which
    comes in the same slot and performs the access. `rdata` belongs to a granted read in the slot after its grant.
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


class Requesters(data.Struct):
    """A bit for each requester of the LBUS."""

    hdma: 1
    pio: 1
    recv: 1
    send: 1
    cpu: 1


REQUESTERS = ("hdma", "pio", "recv", "send", "cpu")


class SlotArbiter(wiring.Component):
    """Who has the slot (NP-56), decided anew in every slot and within it; `engine`: not the processor.

    `odd` is the slot's parity: an even slot is the rising edge of the processor clock and serves the host side (PIO before host DMA:
    they share one turn, and a PIO word is rare), then the processor; an odd one is the falling edge and serves receive DMA, send
    DMA, then the processor. At most one bit of `grant` is set, and only where `request` is.
    """

    odd: In(1)
    request: In(Requesters)
    grant: Out(Requesters)
    engine: Out(1)

    def elaborate(self, platform):
        m = Module()
        request, grant = self.request, self.grant
        engine = self.engine
        with m.If(self.odd):
            m.d.comb += [
                grant.recv.eq(request.recv),
                grant.send.eq(request.send & ~request.recv),
                engine.eq(request.recv | request.send),
            ]
        with m.Else():
            m.d.comb += [
                grant.pio.eq(request.pio),
                grant.hdma.eq(request.hdma & ~request.pio),
                engine.eq(request.pio | request.hdma),
            ]
        m.d.comb += grant.cpu.eq(request.cpu & ~engine)
        return m


class Lbus(wiring.Component):
    """Joins the requesters `hdma`, `pio`, `recv`, `send`, `cpu` to the port `sram`.

    `used` and `waited` tell of this slot, a bit a requester: it was granted, or asked in vain on an edge that serves it. The processor
    alone can name an address beyond the SRAM (engines refuse such descriptors, the host bus such accesses): its read gives what it
    gives, its write does nothing, and `fault` is raised for the slot. That is looked at only with `guard`: the Lanai traps before it asks.
    """

    def __init__(self, config: NicConfig, *, guard: bool = True):
        self.config = config
        self.guard = guard
        masters = {name: In(LbusMaster()) for name in REQUESTERS}
        super().__init__(
            {
                **masters,
                "odd": In(1),
                "sram": Out(SramPort(config)),
                "used": Out(Requesters),
                "waited": Out(Requesters),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = SlotArbiter()
        m.d.comb += [arbiter.odd.eq(self.odd), self.used.eq(arbiter.grant)]
        bound = (self.config.sram_size - 1).bit_length()
        beyond = Signal()
        m.d.comb += [
            beyond.eq(self.cpu.addr[bound:].any() if self.guard and bound < ADDRESS_BITS else 0),
            self.fault.eq(self.cpu.grant & beyond),
            self.sram.enable.eq(arbiter.grant.as_value().any() & ~self.fault),
        ]
        # The processor's address is the latest of all: it passes one choice, whenever no engine has the slot, asked for or not.
        chosen = Signal(SramPort(self.config).members["addr"].shape)
        m.d.comb += [
            self.sram.addr.eq(Mux(arbiter.engine, chosen, self.cpu.addr[2:bound])),
            self.sram.wdata.eq(self.cpu.wdata),
            self.sram.be.eq(self.cpu.be),
            self.sram.write.eq(arbiter.grant.cpu & self.cpu.write & ~beyond),
        ]
        for name in REQUESTERS:
            master = getattr(self, name)
            grant = getattr(arbiter.grant, name)
            m.d.comb += [
                getattr(arbiter.request, name).eq(master.request),
                master.grant.eq(grant),
                master.rdata.eq(self.sram.rdata),
                getattr(self.waited, name).eq(master.request & ~grant & self._serves(name)),
            ]
            if name == "cpu":
                continue
            with m.If(grant):
                m.d.comb += [
                    self.sram.write.eq(master.write),
                    chosen.eq(master.addr[2:bound]),
                    self.sram.wdata.eq(master.wdata),
                    self.sram.be.eq(master.be),
                ]
        return m

    def _serves(self, name):
        return {"cpu": 1, "recv": self.odd, "send": self.odd}.get(name, ~self.odd)
