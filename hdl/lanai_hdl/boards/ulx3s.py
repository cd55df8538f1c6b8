"""Radiona ULX3S with an ECP5 of three sizes: USB serial on board, 25 MHz crystal."""

from dataclasses import dataclass

from amaranth import ClockSignal, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from ..config import KIB, small_fpga
from .board import Board, Cable
from .pins import FIFO_SIGNALS, SIGNALS, CablePlace, Wiring

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


GPIO = ("gpio", 0)


def _place(out: int, half: str) -> CablePlace:
    """A cable's place: out on a half of each pair from `out` on, in on those 14 pairs further."""
    pins = [tuple(f"{first + n}{half}" for n in range(len(SIGNALS))) for first in (out, 14 + out)]
    return CablePlace(*pins, GPIO, GPIO)


# A NIC's cable is at the first of these places (GP on the board), those of a switch are at all of them. A USB chip's
# FIFO is on pairs that a NIC's cable leaves free.
WIRING = Wiring(
    SlotClock,
    {"IO_TYPE": "LVCMOS33"},
    places=tuple(_place(first, half) for first in (0, 7) for half in "+-"),
    fifo=tuple(f"{n}{half}" for n in range(7, 14) for half in "+-"),
    fifo_at=GPIO,
)


def _printed(pin: str) -> str:
    """Return what stands beside a header's pin on the board."""
    return f"G{'P' if pin[-1] == '+' else 'N'}{pin[:-1]}"


CABLES = tuple(
    Cable("the headers J1 and J2", SIGNALS, tuple(map(_printed, place.out)), tuple(map(_printed, place.into)))
    for place in WIRING.places
)


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
        pins=WIRING.pins,
        part=f"LFE5U-{size}F",
        loader=("openFPGALoader", "--board=ulx3s"),
        cable=CABLES[0],
        ports=CABLES,
        fifo=tuple(zip(FIFO_SIGNALS, (_printed(pin) for pin in WIRING.fifo), strict=True)),
    )


ULX3S = (_board(85, 128), _board(45, 128), _board(25, 64))
