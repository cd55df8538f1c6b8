"""Radiona ULX3S with an ECP5 of three sizes: USB serial on board, 25 MHz crystal."""

from dataclasses import dataclass

from amaranth import Cat, ClockDomain, ClockSignal, Elaboratable, Instance, Module, ResetSignal, Signal
from amaranth.build import Attrs, Pins, PinsN, Resource, Subsignal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from ..config import KIB, small_fpga
from .board import FT245_SYNC, SERIAL, USB_KHZ, Board, Cable
from .switch import SwitchTop

CRYSTAL_KHZ = 25_000


@dataclass(frozen=True)
class Dividers:
    """The PLL's dividers: the crystal's clock is divided by `into` and multiplied by `back`. Its VCO runs `out` times
    as fast as the slot clock, and must be inside 400 .. 800 MHz."""

    into: int
    back: int
    out: int

    @property
    def khz(self) -> int:
        return CRYSTAL_KHZ * self.back // self.into


# The slot clocks that a board can be built for, by kHz. The first is one that place and route reaches.
CLOCKS = {one.khz: one for one in (Dividers(5, 12, 10), Dividers(2, 5, 9), Dividers(3, 8, 9), Dividers(1, 2, 12))}
SLOT_KHZ = next(iter(CLOCKS))


SIGNALS = ("clock", "control", *(f"data {n}" for n in range(4)))


@dataclass(frozen=True)
class CablePlace:
    """The pins of one cable on the headers: out on a half of each pair from `out` on, in on those from `into` on."""

    out: int
    into: int
    half: str

    def pins(self, first: int) -> tuple[str, ...]:
        return tuple(f"{first + n}{self.half}" for n in range(len(SIGNALS)))

    def cable(self) -> Cable:
        """Return it as users see it."""
        out, into = (tuple(map(_printed, self.pins(first))) for first in (self.out, self.into))
        return Cable("the headers J1 and J2", SIGNALS, out, into)


# A NIC's cable is at the first of these places (GP on the board), those of a switch are at all of them.
PLACES = tuple(CablePlace(first, 14 + first, half) for first in (0, 7) for half in "+-")


# The FIFO of a USB chip, on pairs that a NIC's cable leaves free.
FIFO_PINS = tuple(f"{n}{half}" for n in range(7, 14) for half in "+-")
FIFO_SIGNALS = (*(f"D{n}" for n in range(8)), "RXF#", "TXE#", "RD#", "WR#", "OE#", "CLKOUT")


class SlotClock(Elaboratable):
    """Makes the slot clock from the crystal and drives the domain `sync`, its parent's, with it. In
    reset until the PLL has locked; all flip-flops leave it with the same edge.

    Parameters: `khz`, one of CLOCKS. `late`: a clock a quarter of a slot behind it, if it is asked for."""

    def __init__(self, khz: int, late: bool = False):
        self._dividers = CLOCKS[khz]
        self._is_late = late
        self.late = Signal()

    def _late_output(self):
        """The PLL's second output. It counts eighths of a cycle of its VCO."""
        out = self._dividers.out
        eighths = 8 * out // 4
        return {
            "p_CLKOS_ENABLE": "ENABLED",
            "p_CLKOS_DIV": out,
            "p_CLKOS_CPHASE": out - 1 + eighths // 8,
            "p_CLKOS_FPHASE": eighths % 8,
            "o_CLKOS": self.late,
        }

    def elaborate(self, platform):
        m = Module()
        locked = Signal()
        clock = Signal()
        m.submodules.crystal = crystal = io.Buffer("i", platform.request("clk25", dir="-"))
        m.submodules.pll = Instance(
            "EHXPLLL",
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA",
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_DIV=self._dividers.out,
            p_CLKOP_CPHASE=self._dividers.out - 1,
            p_CLKOP_FPHASE=0,
            p_CLKI_DIV=self._dividers.into,
            p_CLKFB_DIV=self._dividers.back,
            p_FEEDBK_PATH="CLKOP",
            i_CLKI=crystal.i,
            i_CLKFB=clock,
            i_RST=0,
            i_STDBY=0,
            i_PHASESEL0=0,
            i_PHASESEL1=0,
            i_PHASEDIR=1,
            i_PHASESTEP=1,
            i_PHASELOADREG=1,
            i_PLLWAKESYNC=0,
            i_ENCLKOP=0,
            o_CLKOP=clock,
            **(self._late_output() if self._is_late else {}),
            o_LOCK=locked,
        )
        # No constraint here: nextpnr derives this clock's from the crystal's.
        m.d.comb += ClockSignal("sync").eq(clock)
        m.submodules.reset = ResetSynchronizer(~locked)
        return m


class Ulx3sPins(Elaboratable):
    """Puts a board's top on clock, line to the host and LEDs."""

    def __init__(self, top):
        self.top = top

    def elaborate(self, platform):
        m = Module()
        khz = self.top.config.slot_khz
        m.domains.sync = ClockDomain()
        if self.top.phy is not None:
            m.domains.rx = ClockDomain()
        m.submodules.clock = clock = SlotClock(khz, late=self.top.phy is not None)
        m.submodules.top = self.top
        if self.top.line != SERIAL:
            if clocked := self.top.line == FT245_SYNC:
                m.domains.usb = ClockDomain()
                m.submodules.usb_reset = ResetSynchronizer(ResetSignal("sync"), domain="usb")
            m.submodules.fifo = FifoPins(self.top.fifo, clocked)
        else:
            uart = platform.request("uart", dir="-")
            m.submodules.rx = rx = io.Buffer("i", uart.rx)
            m.submodules.tx = tx = io.Buffer("o", uart.tx)
            m.d.comb += [self.top.rx.eq(rx.i), tx.o.eq(self.top.tx)]
        leds = [*self.top.leds]
        if self.top.phy is not None:
            m.submodules.cable = CablePins(self.top.o, self.top.i, khz, clock.late)
            leds.append(self.top.up)
        _light(m, platform, leds)
        return m


class Ulx3sSwitchPins(Elaboratable):
    """Puts a `SwitchTop` on clock and cables. A LED a port says that there is a link."""

    def __init__(self, top):
        self.top = top

    def elaborate(self, platform):
        m = Module()
        khz = self.top.config.slot_khz
        m.domains.sync = ClockDomain()
        m.submodules.clock = clock = SlotClock(khz, late=True)
        m.submodules.top = top = self.top
        for port, domain in enumerate(top.domains):
            m.domains += ClockDomain(domain)
            m.submodules[f"cable{port}"] = CablePins(top.o[port], top.i[port], khz, clock.late, port, domain)
        _light(m, platform, top.up)
        return m


def _light(m, platform, lights):
    for n, light in enumerate(lights):
        m.submodules[f"led_{n}"] = led = io.Buffer("o", platform.request("led", n, dir="-"))
        m.d.comb += led.o.eq(light)


class FifoPins(Elaboratable):
    """Puts an `Ft245Port` on pins. `clocked`: it belongs to the domain `usb` of the parent, whose clock this drives."""

    def __init__(self, fifo, clocked):
        self.fifo = fifo
        self._clocked = clocked

    def elaborate(self, platform):
        m = Module()
        fifo = self.fifo
        pins = " ".join(FIFO_PINS[:8])
        parts = [Subsignal("data", Pins(pins, dir="io", conn=("gpio", 0)))]
        strobes = ("rd", "wr", "oe") if self._clocked else ("rd", "wr")
        for name, pin in zip(("rxf", "txe", *strobes), FIFO_PINS[8:], strict=False):
            parts.append(Subsignal(name, PinsN(pin, dir="o" if name in strobes else "i", conn=("gpio", 0))))
        if self._clocked:
            parts.append(Subsignal("clock", Pins(FIFO_PINS[-1], dir="i", conn=("gpio", 0))))
        platform.add_resources([Resource("fifo", 0, *parts, Attrs(IO_TYPE="LVCMOS33"))])
        port = platform.request("fifo", 0, dir={part.name: "-" for part in parts})
        m.submodules.data = data = io.Buffer("io", port.data)
        m.d.comb += [data.o.eq(fifo.data_o), data.oe.eq(fifo.drive), fifo.data_i.eq(data.i)]
        for name in ("rxf", "txe"):
            m.submodules[name] = buffer = io.Buffer("i", getattr(port, name))
            m.d.comb += getattr(fifo, name).eq(buffer.i)
        if self._clocked:
            m.submodules.clock = clock = io.Buffer("i", port.clock)
            came = Signal()
            m.d.comb += [came.eq(clock.i), ClockSignal("usb").eq(came)]
            platform.add_clock_constraint(came, 1000 * USB_KHZ)
        for name in strobes:
            m.submodules[name] = buffer = io.Buffer("o", getattr(port, name))
            m.d.comb += buffer.o.eq(getattr(fifo, name))
        return m


class CablePins(Elaboratable):
    """Puts a phy on the pins of a place, at double data rate. The clock that leaves is `late`: its edges are in the
    middle of what leaves with `sync`, and so are those that come.

    The parent has the domains `sync` and `domain`, of which this one drives the second one's clock.

    Parameters: `o`, `i`, of the phy; `khz`, of both clocks; `late`; `place`, of PLACES; `domain`, in which `i` comes.
    """

    def __init__(self, o, i, khz, late, place=0, domain="rx"):
        self.o, self.i, self.late = o, i, late
        self._khz = khz
        self._place, self._domain = place, domain

    def elaborate(self, platform):
        m = Module()
        out, into = self._pins(platform)
        m.domains.late = ClockDomain(reset_less=True, local=True)
        m.d.comb += ClockSignal("late").eq(self.late)
        m.submodules.out_clock = out_clock = io.DDRBuffer("o", out[:1], o_domain="late")
        m.submodules.out = outward = io.DDRBuffer("o", out[1:])
        m.d.comb += [out_clock.o[0].eq(1), out_clock.o[1].eq(0)]
        m.submodules.in_clock = in_clock = io.Buffer("i", into[:1])
        m.submodules.into = inward = io.DDRBuffer("i", into[1:], i_domain=self._domain)
        came = Signal()
        m.d.comb += [came.eq(in_clock.i), ClockSignal(self._domain).eq(came)]
        platform.add_clock_constraint(came, 1000 * self._khz)
        for half in range(2):
            sent, received = (symbol.data[4 * half : 4 * half + 4] for symbol in (self.o, self.i))
            m.d.comb += [
                outward.o[half].eq(Cat(self.o.control[half], sent)),
                Cat(self.i.control[half], received).eq(inward.i[half]),
            ]
        return m

    def _pins(self, platform):
        """Pins out and in."""
        place, found = PLACES[self._place], []
        for name, way, first in (("phy_out", "o", place.out), ("phy_in", "i", place.into)):
            pins = Pins(" ".join(place.pins(first)), dir=way, conn=("gpio", 0))
            platform.add_resources([Resource(name, self._place, pins, Attrs(IO_TYPE="LVCMOS33"))])
            found.append(platform.request(name, self._place, dir="-"))
        return found


def _pins(top):
    return Ulx3sSwitchPins(top) if isinstance(top, SwitchTop) else Ulx3sPins(top)


def _printed(pin: str) -> str:
    """Return what stands beside a header's pin on the board."""
    return f"G{'P' if pin[-1] == '+' else 'N'}{pin[:-1]}"


def _board(size: int, kib: int) -> Board:
    """The board with an ECP5 of this size, whose block RAM is SRAM of so many KiB."""

    def platform():
        from amaranth_boards import ulx3s

        return getattr(ulx3s, f"ULX3S_{size}F_Platform")()

    return Board(
        name=f"ulx3s-{size}f",
        description=f"Radiona ULX3S, ECP5 LFE5U-{size}F, NIC at {SLOT_KHZ / 1000:g} MHz with {kib} KiB of block RAM",
        config=small_fpga().but(slot_khz=SLOT_KHZ, sram_size=kib * KIB),
        clocks=tuple(CLOCKS),
        baud=1_000_000,
        platform=platform,
        pins=_pins,
        part=f"LFE5U-{size}F",
        loader=("openFPGALoader", "--board=ulx3s"),
        cable=PLACES[0].cable(),
        ports=tuple(place.cable() for place in PLACES),
        fifo=tuple(zip(FIFO_SIGNALS, (_printed(pin) for pin in FIFO_PINS), strict=True)),
    )


ULX3S = (_board(85, 128), _board(45, 128), _board(25, 64))
