"""Wishbone B4: a slave for the host's window, a master for host memory."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import PIO_ADDRESS_BITS, HostMemoryPort, PioPort
from .axi import mirrored, mirrored_enables


class WishbonePort(wiring.Signature):
    """Wishbone B4 seen from its master: classic cycles, 32 bits of data, a select bit for each byte. `adr` counts
    words, as LiteX has it; `CTI` and `BTE` are left out."""

    def __init__(self, address_bits):
        super().__init__(
            {
                "cyc": Out(1), "stb": Out(1), "we": Out(1), "adr": Out(address_bits - 2), "sel": Out(4),
                "dat_w": Out(32), "dat_r": In(32), "ack": In(1), "err": In(1),
            }
        )  # fmt: skip


class WishbonePio(wiring.Component):
    """The host's window as a Wishbone slave. It never answers `err`: the NIC counts an access that nothing is behind
    (PIO_FAULTS). A write is acknowledged when the NIC has taken it, and acts before the next access. `ack` stands
    for one clock, also after a cycle that its master has given up: then it says nothing.

    Members: `bus`, ``In(WishbonePort(...))``; `pio`, ``Out(PioPort())``.
    """

    def __init__(self):
        super().__init__({"bus": In(WishbonePort(PIO_ADDRESS_BITS)), "pio": Out(PioPort())})

    def elaborate(self, platform):
        m = Module()
        bus, pio = self.bus, self.pio
        m.d.comb += [
            pio.addr.eq(bus.adr << 2),
            pio.wdata.eq(mirrored(bus.dat_w)),
            pio.write.eq(bus.we),
            pio.be.eq(mirrored_enables(bus.sel)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                nothing = bus.we & (bus.sel == 0)
                m.d.comb += pio.valid.eq(bus.cyc & bus.stb & ~nothing)
                with m.If(bus.cyc & bus.stb & (pio.ready | nothing)):
                    m.next = "WAIT"
                    with m.If(bus.we):
                        m.next = "ANSWER"
            with m.State("WAIT"):
                with m.If(pio.rvalid):
                    m.d.sync += bus.dat_r.eq(mirrored(pio.rdata))
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += bus.ack.eq(bus.cyc & bus.stb)
                m.next = "IDLE"
        return m


class WishboneMemory(wiring.Component):
    """Host memory behind a Wishbone master: one word at a time. An access that has begun is ended, whatever the NIC
    does meanwhile. A disabled byte is 0.

    Members: `mem`, ``In(HostMemoryPort())``; `bus`, ``Out(WishbonePort(32))``.
    """

    mem: In(HostMemoryPort())
    bus: Out(WishbonePort(32))

    def elaborate(self, platform):
        m = Module()
        bus, mem = self.bus, self.mem
        answered = Signal()
        m.d.comb += [mem.ready.eq(~bus.cyc & ~answered), bus.stb.eq(bus.cyc), mem.rvalid.eq(answered)]
        m.d.sync += answered.eq(0)
        with m.If(mem.valid & mem.ready):
            enables = mirrored_enables(mem.be)
            m.d.sync += [
                bus.cyc.eq(1),
                bus.we.eq(mem.write),
                bus.adr.eq(mem.addr >> 2),
                bus.sel.eq(enables),
                bus.dat_w.eq(mirrored(mem.wdata) & Cat(bit.replicate(8) for bit in enables)),
            ]
        with m.If(bus.cyc & (bus.ack | bus.err)):
            m.d.sync += [bus.cyc.eq(0), answered.eq(1), mem.rerror.eq(bus.err), mem.rdata.eq(mirrored(bus.dat_r))]
        return m
