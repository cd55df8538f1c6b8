"""AXI4 and AXI4-Lite: a subordinate for the host's window, a manager for host memory."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.bursts import MemoryBursts
from ..host_bus.master import READ_AHEAD
from ..host_bus.ports import PIO_ADDRESS_BITS, HostMemoryPort, PioPort

LONGEST = READ_AHEAD  # beats of a burst of ours: so many may be unanswered
SIZE = 2  # log2 of the bytes of a beat
FIXED, INCR, WRAP = 0, 1, 2


def mirrored(word):
    """The bytes of a word in the other order: the NIC's big-endian value as lanes, and back."""
    return Cat(word.word_select(lane, 8) for lane in reversed(range(4)))


def mirrored_enables(enables):
    """Byte enables in the other order."""
    return Cat(enables[lane] for lane in reversed(range(4)))


class AxiPort(wiring.Signature):
    """AXI seen from its manager: 32 bits of data, `address_bits` of address. With `id_bits` it is AXI4, without
    AXI4-Lite.

    `AWLOCK`, `AWCACHE`, `AWPROT`, `AWQOS` and those of reads are left out but for `PROT`: a subordinate of ours
    takes any, a manager of ours makes plain accesses.
    """

    def __init__(self, address_bits, id_bits=None):
        self.full = full = id_bits is not None

        def address(name):
            plain = {"addr": Out(address_bits), "prot": Out(3), "valid": Out(1), "ready": In(1)}
            members = {"id": Out(id_bits), "len": Out(8), "size": Out(3), "burst": Out(2), **plain} if full else plain
            return {f"{name}{member}": shape for member, shape in members.items()}

        super().__init__(
            {
                **address("aw"),
                "wdata": Out(32), "wstrb": Out(4), "wvalid": Out(1), "wready": In(1),
                "bresp": In(2), "bvalid": In(1), "bready": Out(1),
                **address("ar"),
                "rdata": In(32), "rresp": In(2), "rvalid": In(1), "rready": Out(1),
                **({"wlast": Out(1), "bid": In(id_bits), "rid": In(id_bits), "rlast": In(1)} if full else {}),
            }
        )  # fmt: skip


class AxiBurst(data.Struct):
    """A burst that the host has asked for: the next beat's address, and how further ones follow from it."""

    addr: PIO_ADDRESS_BITS
    len: 8
    size: 3
    burst: 2


class AxiPio(wiring.Component):
    """The host's window as an AXI subordinate. Reads and writes take turns, one burst at a time; bursts of all kinds
    and sizes are served as the NIC serves single accesses. A beat's access keeps the bus's order.

    The answer is always OKAY: the NIC counts an access that nothing is behind (PIO_FAULTS). It says that the NIC has
    taken the write, which acts before the next access.

    Parameters
    ----------
    id_bits : of AXI4; None for AXI4-Lite

    Members
    -------
    bus : ``In(AxiPort(...))``; pio : ``Out(PioPort())``
    """

    def __init__(self, id_bits=None):
        self._full = id_bits is not None
        super().__init__({"bus": In(AxiPort(PIO_ADDRESS_BITS, id_bits)), "pio": Out(PioPort())})

    def elaborate(self, platform):
        m = Module()
        bus, pio = self.bus, self.pio
        burst, left, after_write = Signal(AxiBurst), Signal(8), Signal()
        last = Signal()
        m.d.comb += [
            pio.addr.eq(burst.addr & ~0b11),
            pio.wdata.eq(mirrored(bus.wdata)),
            last.eq(left == 0),
        ]
        beat = Signal()  # the burst's beat is over
        with m.If(beat):
            m.d.sync += burst.addr.eq(self._next(burst))
            if self._full:
                m.d.sync += left.eq(left - 1)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(bus.awvalid & ~(bus.arvalid & after_write)):
                    m.d.comb += bus.awready.eq(1)
                    self._begin(m, "aw", burst, left)
                    m.d.sync += after_write.eq(1)
                    m.next = "WRITE"
                with m.Elif(bus.arvalid):
                    m.d.comb += bus.arready.eq(1)
                    self._begin(m, "ar", burst, left)
                    m.d.sync += after_write.eq(0)
                    m.next = "ASK"
            with m.State("WRITE"):
                nothing = bus.wstrb == 0
                m.d.comb += [
                    pio.valid.eq(bus.wvalid & ~nothing),
                    pio.write.eq(1),
                    pio.be.eq(mirrored_enables(bus.wstrb)),
                    bus.wready.eq(pio.ready | nothing),
                    beat.eq(bus.wvalid & bus.wready),
                ]
                with m.If(beat & last):
                    m.next = "WRITTEN"
            with m.State("WRITTEN"):
                m.d.comb += bus.bvalid.eq(1)
                with m.If(bus.bready):
                    m.next = "IDLE"
            with m.State("ASK"):
                m.d.comb += [pio.valid.eq(1), pio.be.eq(0b1111)]
                with m.If(pio.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(pio.rvalid):
                    m.d.sync += bus.rdata.eq(mirrored(pio.rdata))
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += [bus.rvalid.eq(1), beat.eq(bus.rready)]
                with m.If(bus.rready):
                    m.next = "ASK"
                    with m.If(last):
                        m.next = "IDLE"
        if self._full:
            m.d.comb += bus.rlast.eq(last)
        return m

    def _begin(self, m, name, burst, left):
        bus = self.bus
        m.d.sync += burst.addr.eq(getattr(bus, f"{name}addr"))
        if self._full:
            m.d.sync += [getattr(burst, one).eq(getattr(bus, name + one)) for one in ("len", "size", "burst")]
            m.d.sync += left.eq(getattr(bus, f"{name}len"))
            m.d.sync += (bus.bid if name == "aw" else bus.rid).eq(getattr(bus, f"{name}id"))

    @staticmethod
    def _next(burst):
        """Return the address of the beat after this one."""
        step = 1 << burst.size[:2]
        block = ((burst.len + 1) << burst.size[:2]) - 1  # of a WRAP burst, whose length is a power of two
        following = (burst.addr & ~(step - 1)) + step
        wrapped = (burst.addr & ~block) | (following & block)
        return Mux(burst.burst == FIXED, burst.addr, Mux(burst.burst == WRAP, wrapped, following))


class AxiMemory(wiring.Component):
    """Host memory behind an AXI manager. One burst at a time, of at most `longest` beats; none crosses 4 KiB.

    Bursts are those of `MemoryBursts`: a reset of the NIC, which withdraws beats, leaves none open, and what the NIC
    no longer wants of a read burst after one is discarded. A disabled byte is 0.

    Parameters
    ----------
    longest : beats of a burst
    id_bits : of AXI4, all IDs are 0; None for AXI4-Lite, with `longest` 1

    Members
    -------
    mem : ``In(HostMemoryPort())``; bus : ``Out(AxiPort(...))``
    reset : ``In(1)``, CONTROL.RESET stood in the slot before (`Nic.in_reset`)
    """

    def __init__(self, longest=1, id_bits=None):
        self._longest = longest
        self._full = id_bits is not None
        super().__init__({"mem": In(HostMemoryPort()), "bus": Out(AxiPort(32, id_bits)), "reset": In(1)})

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        m.submodules.bursts = bursts = MemoryBursts(self._longest)
        wiring.connect(m, wiring.flipped(self.mem), bursts.mem)
        burst, word = bursts.burst.payload, bursts.write.payload
        sent = Signal(range(self._longest + 1))
        m.d.comb += [
            bursts.reset.eq(self.reset),
            bus.awvalid.eq(bursts.burst.valid & burst.write),
            bus.arvalid.eq(bursts.burst.valid & ~burst.write),
            bursts.burst.ready.eq(Mux(burst.write, bus.awready, bus.arready)),
            bus.awaddr.eq(burst.addr),
            bus.araddr.eq(burst.addr),
            bus.wvalid.eq(bursts.write.valid),
            bursts.write.ready.eq(bus.wready),
            bus.wdata.eq(mirrored(word.data) & Cat(bit.replicate(8) for bit in mirrored_enables(word.be))),
            bus.wstrb.eq(mirrored_enables(word.be)),
            bus.bready.eq(1),
            bursts.end.eq(bus.bvalid),
            bursts.refused.eq(bus.bresp[1]),
            bus.rready.eq(bursts.read.ready),
            bursts.read.valid.eq(bus.rvalid),
            bursts.read.payload.data.eq(mirrored(bus.rdata)),
            bursts.read.payload.error.eq(bus.rresp[1]),
        ]
        if self._full:
            m.d.comb += bus.wlast.eq(sent == burst.count - 1)
            for name in ("aw", "ar"):
                m.d.comb += [
                    getattr(bus, f"{name}len").eq(burst.count - 1),
                    getattr(bus, f"{name}size").eq(SIZE),
                    getattr(bus, f"{name}burst").eq(INCR),
                ]
        with m.If(bus.bvalid):
            m.d.sync += sent.eq(0)
        with m.Elif(bus.wvalid & bus.wready):
            m.d.sync += sent.eq(sent + 1)
        return m
