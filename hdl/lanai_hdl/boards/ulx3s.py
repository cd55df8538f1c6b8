"""Radiona ULX3S with an ECP5 of three sizes: USB serial on board, 25 MHz crystal."""

from amaranth import ClockDomain, ClockSignal, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from ..config import KIB, small_fpga
from .board import Board

# 25 MHz / 3 * 8 = 66.67 MHz; the VCO runs at nine times that, 600 MHz, well inside its 400 .. 800
# MHz.
INPUT_DIVISOR, FEEDBACK_DIVISOR, OUTPUT_DIVISOR = 3, 8, 9
SLOT_KHZ = 25_000 * FEEDBACK_DIVISOR // INPUT_DIVISOR


class SlotClock(Elaboratable):
    """Makes the slot clock from the crystal and drives the domain `sync`, its parent's, with it. In
    reset until the PLL has locked; all flip-flops leave it with the same edge."""

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
            p_CLKOP_DIV=OUTPUT_DIVISOR,
            p_CLKOP_CPHASE=OUTPUT_DIVISOR - 1,
            p_CLKOP_FPHASE=0,
            p_CLKI_DIV=INPUT_DIVISOR,
            p_CLKFB_DIV=FEEDBACK_DIVISOR,
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
            o_LOCK=locked,
        )
        # No constraint here: nextpnr derives this clock's from the crystal's.
        m.d.comb += ClockSignal("sync").eq(clock)
        m.submodules.reset = ResetSynchronizer(~locked)
        return m


class Ulx3sPins(Elaboratable):
    """Puts a `BoardTop` on clock, serial line and LEDs."""

    def __init__(self, top):
        self.top = top

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain()
        m.submodules.clock = SlotClock()
        m.submodules.top = self.top
        uart = platform.request("uart", dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.d.comb += [self.top.rx.eq(rx.i), tx.o.eq(self.top.tx)]
        for n in range(len(self.top.leds)):
            m.submodules[f"led_{n}"] = led = io.Buffer("o", platform.request("led", n, dir="-"))
            m.d.comb += led.o.eq(self.top.leds[n])
        return m


def _board(size: int, kib: int) -> Board:
    """The board with an ECP5 of this size, whose block RAM is SRAM of so many KiB."""

    def platform():
        from amaranth_boards import ulx3s

        return getattr(ulx3s, f"ULX3S_{size}F_Platform")()

    return Board(
        name=f"ulx3s-{size}f",
        description=f"Radiona ULX3S, ECP5 LFE5U-{size}F, NIC at 66.67 MHz slots with {kib} KiB of block RAM",
        config=small_fpga().but(slot_khz=SLOT_KHZ, sram_size=kib * KIB),
        baud=1_000_000,
        platform=platform,
        pins=Ulx3sPins,
    )


ULX3S = (_board(85, 128), _board(45, 128), _board(25, 64))
