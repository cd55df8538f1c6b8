"""The NIC as target of the host's programmed I/O."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..lbus.lbus import LbusMaster
from ..machine import REGISTERS_HOST, REGISTERS_SIZE, SRAM_HOST
from ..run_time import numbers
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
    """The targets of an access."""

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

    Members: `pio`; `lbus`; `registers`; `want`, `granted`, `tick` of the host bus; `leave`: give
    the bus up after the access under way. The next access is charged from the start. A line of
    combined writes is one access, as the host's bridge puts it on the bus in one burst: the bus is
    kept for its next word, but for no other access. A write costs `pio_write_setup` clocks and one
    more; one clock if it follows on the last one while the bus is kept, in the same line of
    `pio_line` bytes (writes combined by the host: NP-59). A read costs `pio_read_setup` and one
    more, and what the NIC takes. Two writes to the SRAM may wait for their LBUS slots after the bus
    has taken them, so that combined writes take one clock a word in whichever slot the bus clock
    begins. Outside the map (`fault`) reads give all ones and writes nothing; so does a partial
    write to a register. `window`, only if a block of the configuration serves a part of the host's
    window: accesses to that part, as to registers. While the block does not grant one, the access
    behind it leaves the bus to others, and is charged from the start once it goes on; so the block
    may wait for what others do on the bus. A read that the block does not grant at once leaves the
    bus too (`HostWindow.reads_wait`): the host asks again, and is charged again, once the word is
    there. Events of a slot:
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
                "leave": In(1),
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
        self.known = numbers(config, platform)
        self.access = Signal(Access)
        self.region = Signal(Region)
        self.follows = Signal(PIO_ADDRESS_BITS)  # the address that would go on with the last write; 0 is never
        self.charge = Signal(range(max(config.pio_read_setup, config.pio_write_setup) + 2))
        self.linger = Signal(range(LINGER + 1))
        self.last_of_line = Signal()
        to_lbus, to_registers = Signal(), Signal()  # an access waits for its grant, or had it just before:
        granted = Signal()  # registered, for the registers' grant is timing-critical
        self.behind = Signal()  # an access will still wait in the next slot
        posted, waiting = Signal(Access), Signal()  # a write to the SRAM behind that, if `waiting`
        self.to_lbus, self.to_registers, self.posted, self.waiting = to_lbus, to_registers, posted, waiting
        self._wait_for_grants(m, granted)
        m.d.comb += self.region.eq(self._region(self.access.addr))
        m.d.comb += self.last_of_line.eq(self._ends_line(self.access.addr))
        m.d.sync += [self.pio.rvalid.eq(0), self.fault.eq(0)]
        self._end_waits(m, granted)
        with m.If(self.tick & (self.linger != 0)):
            m.d.sync += self.linger.eq(self.linger - 1)

        with m.FSM():
            with m.State("IDLE"):
                self._take(m)
            with m.State("CHARGE"):
                m.d.comb += self.want.eq(1)
                with m.If(self.granted & self.tick & (self.charge != 0)):
                    m.d.sync += self.charge.eq(self.charge - 1)
                if self._has_window:
                    self._let_others_go_first(m, granted)
                self._begin(m, granted)
            with m.State("READ"):
                m.d.comb += self.want.eq(1)
                self._choose_data(m)
                with m.If(granted):
                    m.d.sync += self.pio.rvalid.eq(1)
                    m.next = "IDLE"
                if self._reads_wait:
                    self._leave_while_it_waits(m, granted)
            if self._reads_wait:
                with m.State("AGAIN"):
                    self._charge_again(m)
            with m.State("NOWHERE"):
                m.d.comb += self.want.eq(1)
                m.d.sync += self.pio.rvalid.eq(1)
                m.next = "IDLE"
        return m

    @property
    def _has_window(self):
        return self.config.host_window is not None

    @property
    def _reads_wait(self):
        return self._has_window and self.config.host_window.reads_wait

    def _wait_for_grants(self, m, granted):
        """Asks for what the access waits for; the grants of this slot. `granted` is theirs of the
        slot before."""
        pending, grants = self.to_lbus | self.to_registers, self.lbus.grant | self.registers.grant
        if self._has_window:
            self._to_block = Signal()
            self.in_block = Signal()  # where no region of every NIC is
            m.d.comb += self.in_block.eq(self._in_block(self.access.addr))
            pending, grants = pending | self._to_block, grants | self.window.grant
            m.d.comb += self.window.request.eq(self._to_block & ~granted)
        m.d.sync += granted.eq(grants)
        m.d.comb += [
            self.lbus.request.eq(self.to_lbus & ~granted),
            self.registers.request.eq(self.to_registers & ~granted),
            self.behind.eq(pending & ~(granted & ~self.waiting)),
        ]

    def _end_waits(self, m, granted):
        """After a grant the write that waits behind it is the next to ask."""
        with m.If(granted):
            m.d.sync += [self.to_lbus.eq(self.waiting), self.to_registers.eq(0), self.waiting.eq(0)]
            if self._has_window:
                m.d.sync += self._to_block.eq(0)
            with m.If(self.waiting):
                self._request(m, self.posted)

    def _take(self, m):
        """State IDLE: takes the access that is offered."""
        pio, lingers, line, goes_on = self.pio, self.linger != 0, Signal(), Signal()
        m.d.comb += [
            line.eq(lingers & (self.follows != 0)),  # the last write was not the end of its line
            goes_on.eq(pio.write & (pio.addr[2:] == self.follows[2:])),
            self.idle.eq(~pio.valid & ~self.behind & ~lingers),
            pio.ready.eq(1),
            self.want.eq(Mux(self.leave, line & (goes_on | ~pio.valid), lingers)),
        ]
        m.d.sync += [
            self.access.write.eq(pio.write),
            self.access.addr.eq(pio.addr),
            self.access.wdata.eq(pio.wdata),
            self.access.be.eq(pio.be),
            self.charge.eq(self._cost(line & goes_on)),
        ]
        with m.If(self.leave & ~self.want):
            m.d.sync += self.linger.eq(0)
        with m.If(self.pio.valid):
            m.next = "CHARGE"

    def _let_others_go_first(self, m, granted):
        """Off the bus, and charged anew, while the block does not grant the access before. No other
        grant can come then."""
        known = self.known
        with m.If(self._to_block & ~self.window.grant & ~granted):
            m.d.comb += self.want.eq(0)
            m.d.sync += self.charge.eq(Mux(self.access.write, known.pio_write_setup, known.pio_read_setup) + 1)

    def _leave_while_it_waits(self, m, granted):
        """State READ: off the bus while the block does not grant; then the host asks once more."""
        with m.If(self._to_block & ~self.window.grant & ~granted):
            m.d.comb += self.want.eq(0)
            m.d.sync += self.charge.eq(self.known.pio_read_setup + 1)
        with m.If(granted & (self.charge != 0)):
            m.d.sync += self.pio.rvalid.eq(0)
            m.next = "AGAIN"

    def _charge_again(self, m):
        """State AGAIN: the word stands on `rdata` already."""
        m.d.comb += self.want.eq(1)
        with m.If(self.granted & self.tick):
            m.d.sync += [self.charge.eq(self.charge - 1), self.pio.rvalid.eq(self.charge == 1)]
        with m.If(self.granted & self.tick & (self.charge == 1)):
            m.next = "IDLE"

    def _begin(self, m, granted):
        """In the last clock of the charge: performs the access, or puts it behind the one before.
        Whatever is not a write to the SRAM behind another one waits until all before it is done."""
        access = self.access
        postable = access.write & (self.region == Region.SRAM) & self.to_lbus & (granted | ~self.waiting)
        with m.If(self.granted & (self.charge <= self.tick) & (~self.behind | postable)):
            m.d.comb += [self.read.eq(~access.write), self.wrote.eq(access.write)]
            with m.If(self.behind):
                m.d.sync += [self.posted.eq(access), self.waiting.eq(1)]
            with m.Else():
                self._perform(m)
            m.d.sync += self.follows.eq(Mux(access.write & ~self.last_of_line, access.addr + 4, 0))
            with m.If(access.write):
                m.d.sync += self.linger.eq(LINGER)
                m.next = "IDLE"
            with m.Else():
                m.d.sync += self.linger.eq(0)
                m.next = "READ"

    def _choose_data(self, m):
        """State READ: the data of whichever region answers."""
        with m.Switch(self.region):
            with m.Case(Region.SRAM):
                m.d.sync += self.pio.rdata.eq(self.lbus.rdata)
            with m.Case(Region.REGISTERS):
                m.d.sync += self.pio.rdata.eq(self.registers.rdata)
            with m.Default():
                m.d.sync += self.pio.rdata.eq(0xFFFFFFFF)
                m.next = "NOWHERE"
                if self._has_window:
                    with m.If(self.in_block):
                        m.d.sync += self.pio.rdata.eq(self.window.rdata)
                        m.next = "READ"

    def _ends_line(self, addr):
        last = (self.known.pio_line >> 2) - 1  # word of a line; the size is a power of two
        return (addr[2:] & last) == last

    def _region(self, addr):
        sram = (addr >= SRAM_HOST) & (addr < SRAM_HOST + self.config.sram_size)
        registers = (addr >= REGISTERS_HOST) & (addr < REGISTERS_HOST + REGISTERS_SIZE)
        return Mux(sram, Region.SRAM.value, Mux(registers, Region.REGISTERS.value, Region.NOWHERE.value))

    def _in_block(self, addr):
        """In the part of the window that a block serves, which no region of every NIC overlaps."""
        bits = len(self.window.addr)
        return addr[bits:] == self.config.host_window.offset >> bits

    def _cost(self, combined):
        """Clocks that the access now offered will be charged, `combined` with the last write or not."""
        known = self.known
        write = Mux(combined, 1, known.pio_write_setup + 1)
        return Mux(self.pio.write, write, known.pio_read_setup + 1)

    def _perform(self, m):
        access, registers = self.access, self.region == Region.REGISTERS
        whole = access.be == 0b1111
        nowhere, whole_only = self.region == Region.NOWHERE, registers
        if self._has_window:
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
            self.to_lbus.eq(self.region == Region.SRAM),
            self.to_registers.eq(registers & (whole | ~access.write)),
            self.registers.write.eq(access.write),
            self.registers.addr.eq(access.addr - REGISTERS_HOST),
            self.registers.wdata.eq(access.wdata),
        ]
        self._request(m, access)

    def _request(self, m, access):
        """Register the access to make on the LBUS."""
        m.d.sync += [
            self.lbus.write.eq(access.write),
            self.lbus.addr.eq(access.addr - SRAM_HOST),
            self.lbus.wdata.eq(access.wdata),
            self.lbus.be.eq(access.be),
        ]
