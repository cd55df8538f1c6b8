"""The NIC as target of the host's programmed I/O."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..lbus.lbus import LbusMaster
from ..machine import REGISTERS_HOST, REGISTERS_SIZE, SRAM_HOST
from .ports import PIO_ADDRESS_BITS, PioPort

LINGER = 2  # clocks that the bus is kept for the next word of a combined write


class RegisterAccess(wiring.Signature):
    """The host's port to the on-chip registers, seen from the host bus; as `LbusMaster`, whole
    words only.

    `size`: bytes that it reaches.
    """

    def __init__(self, size=REGISTERS_SIZE):
        super().__init__(
            {
                "request": Out(1),
                "write": Out(1),
                "addr": Out(range(size)),
                "wdata": Out(32),
                "grant": In(1),
                "rdata": In(32),
            }
        )


class Region(enum.Enum, shape=2):
    """Where an access goes."""

    NOWHERE = 0
    SRAM = 1
    REGISTERS = 2


class Access(data.Struct):
    """A PIO access under way."""

    write: 1
    addr: PIO_ADDRESS_BITS
    wdata: 32
    be: 4


def window_member(config: NicConfig):
    """The member `window` of a component that passes the host's accesses on to a block, if there is
    such a block."""
    window = config.host_window
    return {} if window is None else {"window": Out(RegisterAccess(window.size))}


class PioTarget(wiring.Component):
    """Takes the host's accesses, charges them what the bus costs, performs them.

    Members: `pio`; `lbus`; `registers`; `want`, `granted`, `tick` of the host bus. A write costs
    `pio_write_setup` clocks and one more; one clock if it follows on the last one while the bus is
    kept, in the same line of `pio_line` bytes (writes combined by the host: NP-59). A read costs
    `pio_read_setup` and one more, and what the NIC takes. Two writes to the SRAM may wait for their
    LBUS slots after the bus has taken them, so that combined writes take one clock a word in
    whichever slot the bus clock begins. Outside the map (`fault`) reads give all ones and writes
    nothing; so does a partial write to a register. `window`, only if a block of the configuration
    serves a part of the host's window: accesses to that part, as to registers. While the block does
    not grant one, the access behind it leaves the bus to others, and is charged from the start once
    it goes on; so the block may wait for what others do on the bus. Events of a slot:
    `read`, `wrote`; of the slot before: `fault`. `idle` while nothing is under way.
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "pio": In(PioPort()),
                "lbus": Out(LbusMaster()),
                "registers": Out(RegisterAccess()),
                "want": Out(1),
                "granted": In(1),
                "tick": In(1),
                "read": Out(1),
                "wrote": Out(1),
                "fault": Out(1),
                "idle": Out(1),
                **window_member(config),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        access = Signal(Access)
        region = Signal(Region)
        follows = Signal(PIO_ADDRESS_BITS)  # the address that would go on with the last write; 0 is never
        charge = Signal(range(max(config.pio_read_setup, config.pio_write_setup) + 2))
        linger = Signal(range(LINGER + 1))
        line_bits = (config.pio_line - 1).bit_length()
        last_of_line = Signal()
        to_lbus, to_registers = Signal(), Signal()  # an access waits for its grant, or had it in the slot before:
        granted = Signal()  # registered, for the registers' grant is timing-critical
        behind = Signal()  # an access will still wait in the next slot
        posted, waiting = Signal(Access), Signal()  # a write to the SRAM behind that, if `waiting`
        pending, grants = to_lbus | to_registers, self.lbus.grant | self.registers.grant
        block = self.config.host_window is not None
        if block:
            self._to_block = Signal()
            in_block = Signal()  # where no region of every NIC is
            m.d.comb += in_block.eq(self._in_block(access.addr))
            pending, grants = pending | self._to_block, grants | self.window.grant
            m.d.comb += self.window.request.eq(self._to_block & ~granted)
        m.d.sync += granted.eq(grants)
        m.d.comb += [
            self.lbus.request.eq(to_lbus & ~granted),
            self.registers.request.eq(to_registers & ~granted),
            behind.eq(pending & ~(granted & ~waiting)),
            region.eq(self._region(access.addr)),
            last_of_line.eq(access.addr[2:line_bits].all() if line_bits > 2 else 1),
        ]
        m.d.sync += [self.pio.rvalid.eq(0), self.fault.eq(0)]
        with m.If(granted):
            m.d.sync += [to_lbus.eq(waiting), to_registers.eq(0), waiting.eq(0)]
            if block:
                m.d.sync += self._to_block.eq(0)
            with m.If(waiting):
                self._request(m, posted)
        with m.If(self.tick & (linger != 0)):
            m.d.sync += linger.eq(linger - 1)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(~self.pio.valid & ~behind & (linger == 0))
                m.d.comb += [self.pio.ready.eq(1), self.want.eq(linger != 0)]
                m.d.sync += [
                    access.write.eq(self.pio.write),
                    access.addr.eq(self.pio.addr),
                    access.wdata.eq(self.pio.wdata),
                    access.be.eq(self.pio.be),
                    charge.eq(self._cost(follows, linger)),
                ]
                with m.If(self.pio.valid):
                    m.next = "CHARGE"
            with m.State("CHARGE"):
                m.d.comb += self.want.eq(1)
                with m.If(self.granted & self.tick & (charge != 0)):
                    m.d.sync += charge.eq(charge - 1)
                if block:
                    with m.If(self._to_block & ~grants & ~granted):
                        m.d.comb += self.want.eq(0)
                        m.d.sync += charge.eq(Mux(access.write, config.pio_write_setup, config.pio_read_setup) + 1)
                # Whatever is not a write to the SRAM behind another one waits until all before it
                # is done.
                postable = access.write & (region == Region.SRAM) & to_lbus & (granted | ~waiting)
                with m.If(self.granted & (charge <= self.tick) & (~behind | postable)):
                    m.d.comb += [self.read.eq(~access.write), self.wrote.eq(access.write)]
                    with m.If(behind):
                        m.d.sync += [posted.eq(access), waiting.eq(1)]
                    with m.Else():
                        self._perform(m, access, region, to_lbus, to_registers)
                    m.d.sync += follows.eq(Mux(access.write & ~last_of_line, access.addr + 4, 0))
                    with m.If(access.write):
                        m.d.sync += linger.eq(LINGER)
                        m.next = "IDLE"
                    with m.Else():
                        m.d.sync += linger.eq(0)
                        m.next = "READ"
            with m.State("READ"):
                m.d.comb += self.want.eq(1)
                with m.Switch(region):
                    with m.Case(Region.SRAM):
                        m.d.sync += self.pio.rdata.eq(self.lbus.rdata)
                    with m.Case(Region.REGISTERS):
                        m.d.sync += self.pio.rdata.eq(self.registers.rdata)
                    with m.Default():
                        m.d.sync += self.pio.rdata.eq(0xFFFFFFFF)
                        m.next = "NOWHERE"
                        if block:
                            with m.If(in_block):
                                m.d.sync += self.pio.rdata.eq(self.window.rdata)
                                m.next = "READ"
                with m.If(granted):
                    m.d.sync += self.pio.rvalid.eq(1)
                    m.next = "IDLE"
            with m.State("NOWHERE"):
                m.d.comb += self.want.eq(1)
                m.d.sync += self.pio.rvalid.eq(1)
                m.next = "IDLE"
        return m

    def _region(self, addr):
        sram = (addr >= SRAM_HOST) & (addr < SRAM_HOST + self.config.sram_size)
        registers = (addr >= REGISTERS_HOST) & (addr < REGISTERS_HOST + REGISTERS_SIZE)
        return Mux(sram, Region.SRAM.value, Mux(registers, Region.REGISTERS.value, Region.NOWHERE.value))

    def _in_block(self, addr):
        """In the part of the window that a block serves, which no region of every NIC overlaps."""
        bits = len(self.window.addr)
        return addr[bits:] == self.config.host_window.offset >> bits

    def _cost(self, follows, linger):
        """Clocks that the access now offered will be charged."""
        config, pio = self.config, self.pio
        combined = (linger != 0) & (follows != 0) & (pio.addr[2:] == follows[2:])
        write = Mux(combined, 1, config.pio_write_setup + 1)
        return Mux(pio.write, write, config.pio_read_setup + 1)

    def _perform(self, m, access, region, to_lbus, to_registers):
        whole = access.be == 0b1111
        sram, registers = region == Region.SRAM, region == Region.REGISTERS
        nowhere, whole_only = region == Region.NOWHERE, registers
        if self.config.host_window is not None:
            block = self._in_block(access.addr)
            nowhere, whole_only = nowhere & ~block, registers | block
            m.d.sync += [
                self._to_block.eq(block & (whole | ~access.write)),
                self.window.write.eq(access.write),
                self.window.addr.eq(access.addr),
                self.window.wdata.eq(access.wdata),
            ]
        m.d.sync += [
            self.fault.eq(nowhere | (whole_only & access.write & ~whole)),
            to_lbus.eq(sram),
            to_registers.eq(registers & (whole | ~access.write)),
            self.registers.write.eq(access.write),
            self.registers.addr.eq(access.addr - REGISTERS_HOST),
            self.registers.wdata.eq(access.wdata),
        ]
        self._request(m, access)

    def _request(self, m, access):
        """What the LBUS will be asked for."""
        m.d.sync += [
            self.lbus.write.eq(access.write),
            self.lbus.addr.eq(access.addr - SRAM_HOST),
            self.lbus.wdata.eq(access.wdata),
            self.lbus.be.eq(access.be),
        ]
