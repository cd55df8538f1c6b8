"""A board's top on its pins: clock, line to the host, LEDs, and the cables of its phys."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, ClockDomain, ClockSignal, Elaboratable, Module, ResetSignal, Signal
from amaranth.build import Attrs, Pins, PinsN, Resource, Subsignal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from .board import FT245_SYNC, SERIAL, USB_KHZ
from .switch import SwitchTop

SIGNALS = ("clock", "control", *(f"data {n}" for n in range(4)))  # of a cable, each way
FIFO_SIGNALS = (*(f"D{n}" for n in range(8)), "RXF#", "TXE#", "RD#", "WR#", "OE#", "CLKOUT")


@dataclass(frozen=True)
class CablePlace:
    """The pins of one cable, a pin for each of SIGNALS: `out` of the connector `out_at`, `into` of `into_at`."""

    out: tuple[str, ...]
    into: tuple[str, ...]
    out_at: tuple[str, int]
    into_at: tuple[str, int]


def direct(m, platform, came):
    """Return the clock that a cable brings, as it came: the tools find a network for it."""
    return came


@dataclass(frozen=True)
class Wiring:
    """The way of a board's tops to its clock and pins. It has the resources `uart` and `led`.

    `slot_clock(khz, late)` makes an elaboratable that drives the domain `sync`, its parent's, and has `late`, a clock
    a quarter of a slot behind it, if that is asked for. `attributes`: those of pins on connectors. `places`: those of
    cables; a NIC's is the first. `fifo`: the pins of a USB chip's FIFO_SIGNALS on the connector `fifo_at`.
    `cable_clock(m, platform, came)` brings the clock of a cable to what it drives, and returns it.
    """

    slot_clock: Callable[[int, bool], Any]
    attributes: Mapping[str, str]
    places: tuple[CablePlace, ...] = ()
    fifo: tuple[str, ...] = ()
    fifo_at: tuple[str, int] = ("", 0)
    cable_clock: Callable[[Any, Any, Any], Any] = direct

    def pins(self, top):
        """Return an elaboratable that puts a `BoardTop` or a `SwitchTop` on the board's pins."""
        return SwitchPins(self, top) if isinstance(top, SwitchTop) else BoardPins(self, top)


class BoardPins(Elaboratable):
    """Puts a board's top on clock, line to the host and LEDs."""

    def __init__(self, wiring: Wiring, top):
        self.wiring, self.top = wiring, top

    def elaborate(self, platform):
        m = Module()
        khz = self.top.config.slot_khz
        m.domains.sync = ClockDomain()
        if self.top.phy is not None:
            m.domains.rx = ClockDomain()
        m.submodules.clock = clock = self.wiring.slot_clock(khz, self.top.phy is not None)
        m.submodules.top = self.top
        if self.top.line != SERIAL:
            if clocked := self.top.line == FT245_SYNC:
                m.domains.usb = ClockDomain()
                m.submodules.usb_reset = ResetSynchronizer(ResetSignal("sync"), domain="usb")
            m.submodules.fifo = FifoPins(self.wiring, self.top.fifo, clocked)
        else:
            uart = platform.request("uart", dir="-")
            m.submodules.rx = rx = io.Buffer("i", uart.rx)
            m.submodules.tx = tx = io.Buffer("o", uart.tx)
            m.d.comb += [self.top.rx.eq(rx.i), tx.o.eq(self.top.tx)]
        leds = [*self.top.leds]
        if self.top.phy is not None:
            m.submodules.cable = CablePins(self.wiring, self.top.o, self.top.i, khz, clock.late)
            leds.append(self.top.up)
        _light(m, platform, leds)
        return m


class SwitchPins(Elaboratable):
    """Puts a `SwitchTop` on clock and cables. A LED a port says that there is a link."""

    def __init__(self, wiring: Wiring, top):
        self.wiring, self.top = wiring, top

    def elaborate(self, platform):
        m = Module()
        khz = self.top.config.slot_khz
        m.domains.sync = ClockDomain()
        m.submodules.clock = clock = self.wiring.slot_clock(khz, True)
        m.submodules.top = top = self.top
        for port, domain in enumerate(top.domains):
            m.domains += ClockDomain(domain)
            m.submodules[f"cable{port}"] = CablePins(
                self.wiring, top.o[port], top.i[port], khz, clock.late, port, domain
            )
        _light(m, platform, top.up)
        return m


def _light(m, platform, lights):
    for n, light in enumerate(lights):
        m.submodules[f"led_{n}"] = led = io.Buffer("o", platform.request("led", n, dir="-"))
        m.d.comb += led.o.eq(light)


class FifoPins(Elaboratable):
    """Puts an `Ft245Port` on pins. `clocked`: it belongs to the domain `usb` of the parent, whose clock this drives."""

    def __init__(self, wiring: Wiring, fifo, clocked):
        self.wiring, self.fifo = wiring, fifo
        self._clocked = clocked

    def elaborate(self, platform):
        m = Module()
        wiring, fifo = self.wiring, self.fifo
        at, attributes = wiring.fifo_at, Attrs(**wiring.attributes)
        parts = [Subsignal("data", Pins(" ".join(wiring.fifo[:8]), dir="io", conn=at))]
        strobes = ("rd", "wr", "oe") if self._clocked else ("rd", "wr")
        for name, pin in zip(("rxf", "txe", *strobes), wiring.fifo[8:], strict=False):
            parts.append(Subsignal(name, PinsN(pin, dir="o" if name in strobes else "i", conn=at)))
        if self._clocked:
            parts.append(Subsignal("clock", Pins(wiring.fifo[-1], dir="i", conn=at)))
        platform.add_resources([Resource("fifo", 0, *parts, attributes)])
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

    Parameters: `wiring`, of the board; `o`, `i`, of the phy; `khz`, of both clocks; `late`; `place`, the number of one
    of its places; `domain`, in which `i` comes.
    """

    def __init__(self, wiring: Wiring, o, i, khz, late, place=0, domain="rx"):
        self.wiring, self.o, self.i, self.late = wiring, o, i, late
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
        clock = self.wiring.cable_clock(m, platform, came)
        m.d.comb += [came.eq(in_clock.i), ClockSignal(self._domain).eq(clock)]
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
        place, found = self.wiring.places[self._place], []
        ways = (("phy_out", "o", place.out, place.out_at), ("phy_in", "i", place.into, place.into_at))
        for name, way, numbers, at in ways:
            pins = Pins(" ".join(numbers), dir=way, conn=at)
            platform.add_resources([Resource(name, self._place, pins, Attrs(**self.wiring.attributes))])
            found.append(platform.request(name, self._place, dir="-"))
        return found
