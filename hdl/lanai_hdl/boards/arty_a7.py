"""Digilent Arty A7 with an Artix-7 of two sizes: USB serial on board, 100 MHz crystal. Vivado builds its bitstreams."""

from amaranth import ClockSignal, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from ..config import KIB, small_fpga
from .board import XILINX7, Board, Cable
from .pins import SIGNALS, CablePlace, Wiring

CRYSTAL_KHZ = 100_000
VCO = 12  # times the crystal's clock; the PLL's oscillator must be inside 800 .. 1600 MHz
# The slot clocks that a board can be built for, by kHz, with what divides the oscillator's clock. The first is that of
# the other boards, so that a cable may join them.
CLOCKS = {CRYSTAL_KHZ * VCO // into: into for into in (20, 24, 18, 16, 12)}
SLOT_KHZ = next(iter(CLOCKS))


class SlotClock(Elaboratable):
    """Makes the slot clock from the crystal and drives the domain `sync`, its parent's, with it. In
    reset until the PLL has locked; all flip-flops leave it with the same edge.

    Parameters: `khz`, one of CLOCKS. `late`: a clock a quarter of a slot behind it, if it is asked for."""

    def __init__(self, khz: int, late: bool = False):
        self._into = CLOCKS[khz]
        self._is_late = late
        self.late = Signal()

    def elaborate(self, platform):
        m = Module()
        back, locked, made, made_late, clock = Signal(), Signal(), Signal(), Signal(), Signal()
        m.submodules.crystal = crystal = io.Buffer("i", platform.request("clk100", dir="-"))
        late = {"p_CLKOUT1_DIVIDE": self._into, "p_CLKOUT1_PHASE": 90.0, "o_CLKOUT1": made_late}
        m.submodules.pll = Instance(
            "PLLE2_BASE",
            p_CLKIN1_PERIOD=1e6 / CRYSTAL_KHZ,
            p_CLKFBOUT_MULT=VCO,
            p_DIVCLK_DIVIDE=1,
            p_CLKOUT0_DIVIDE=self._into,
            i_CLKIN1=crystal.i,
            i_CLKFBIN=back,
            i_RST=0,
            i_PWRDWN=0,
            o_CLKFBOUT=back,
            o_CLKOUT0=made,
            o_LOCKED=locked,
            **(late if self._is_late else {}),
        )
        m.submodules.network = Instance("BUFG", i_I=made, o_O=clock)
        if self._is_late:
            m.submodules.late_network = Instance("BUFG", i_I=made_late, o_O=self.late)
        # No constraint here: Vivado derives this clock's from the crystal's.
        m.d.comb += ClockSignal("sync").eq(clock)
        m.submodules.reset = ResetSynchronizer(~locked)
        return m


# The clocks of a cable and of the board have nothing to do with each other. Whatever passes between them goes through
# a FIFO with two clocks, whose pointers are synchronized.
APART = """\
set_clock_groups -asynchronous -group [get_clocks -include_generated_clocks clk100*] -group [get_clocks came]
"""


def regional(m, platform, came):
    """Return a cable's clock behind a buffer of its region, whose pins are those of the cable. It reaches them sooner
    than by the global network, in the middle of what comes with it."""
    clock = Signal()
    m.submodules.region = Instance("BUFR", p_BUFR_DIVIDE="BYPASS", i_CE=1, i_CLR=0, i_I=came, o_O=clock)
    platform.add_file("cable.xdc", APART)
    return clock


# Both Pmods have pins without resistors. JB1 may bring a clock, and all of JB is in one region.
PINS = ("1", "2", "3", "4", "7", "8")
WIRING = Wiring(
    SlotClock,
    {"IOSTANDARD": "LVCMOS33"},
    places=(CablePlace(out=PINS, into=PINS, out_at=("pmod", 2), into_at=("pmod", 1)),),
    cable_clock=regional,
)


def _board(size: int) -> Board:
    """The board with an Artix-7 of this size."""

    def platform():
        from amaranth_boards import arty_a7

        return getattr(arty_a7, f"ArtyA7_{size}Platform")(toolchain="Vivado")

    return Board(
        name=f"arty-a7-{size}t",
        description=f"Digilent Arty A7, Artix-7 XC7A{size}T, NIC at {SLOT_KHZ / 1000:g} MHz with 128 KiB of block RAM",
        config=small_fpga().but(slot_khz=SLOT_KHZ, sram_size=128 * KIB),
        clocks=tuple(CLOCKS),
        baud=1_000_000,
        platform=platform,
        pins=WIRING.pins,
        family=XILINX7,
        part=f"7a{size}t",
        loader=("openFPGALoader", f"--board=arty_a7_{size}t"),
        cable=Cable(
            "the Pmods JC and JB", SIGNALS, tuple(f"JC{pin}" for pin in PINS), tuple(f"JB{pin}" for pin in PINS)
        ),
    )


ARTY_A7 = (_board(35), _board(100))
