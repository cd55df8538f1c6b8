"""Boards, as the build needs to know them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from ..block_config import BlockConfig
from ..config import NicConfig
from ..errors import UserError, unknown

SERIAL, FT245, FT245_SYNC = "serial", "ft245", "ft245-sync"
LINES = (SERIAL, FT245, FT245_SYNC)  # a serial line; the FIFO of a USB chip, asynchronous or with the chip's clock
USB_KHZ = 60_000  # the chip's clock
ECP5, XILINX7 = "ecp5", "xilinx7"  # families of FPGAs

TWO_PORTS = 2  # of a switch at least


@dataclass(frozen=True)
class Cable:
    """The wires of a board's phy on a connector: pins by the names that the connector has for them, the clock first,
    then control and data. Two boards are joined by two wires for each of `signals`: from `out` of one to `into` of
    the other, and back."""

    connector: str
    signals: tuple[str, ...]
    out: tuple[str, ...]
    into: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    """One supported board.

    `platform()` makes its Amaranth platform, `pins(top)` an elaboratable that puts a `BoardTop`, or a `SwitchTop` if
    there are `ports`, on its clock and pins. `config` is the NIC that fits it, at the clock that `pins` makes.
    `family`: ECP5, or XILINX7, for which the build ends with a project for Vivado. `part`: the FPGA, as its bitstreams
    name it. `loader`: the command line that puts a bitstream on it, whose file is added.
    `cable`: where its phy's pins are. `phy`: its link is on pins; else it is looped back. `fifo`: where a USB chip's
    FIFO goes, signal by signal, if it has pins for one. `line`: what carries the host bus, one of LINES. `ports`: where
    the cables of a switch go, as many as its pins hold. `switch`: how many of them it has as a switch; 0: it has a NIC.
    `clocks`: the slot clocks in kHz that `pins` can make; none: that of `config` alone.
    """

    name: str
    description: str
    config: NicConfig
    baud: int
    platform: Callable[[], Any]
    pins: Callable[[Any], Any]
    family: str = ECP5
    part: str = ""
    loader: tuple[str, ...] = ()
    cable: Cable | None = None
    phy: bool = False
    fifo: tuple[tuple[str, str], ...] = ()
    line: str = SERIAL
    ports: tuple[Cable, ...] = ()
    switch: int = 0
    clocks: tuple[int, ...] = ()

    @property
    def divisor(self) -> int:
        """Slots a bit of the serial line."""
        return round(1000 * self.config.slot_khz / self.baud)

    def with_clock(self, mhz: float) -> Self:
        """Return the board with another slot clock, given as users read it: in MHz, to two decimals."""
        clocks = {f"{khz / 1000:.2f}": khz for khz in self.clocks or (self.config.slot_khz,)}
        text = f"{mhz:.2f}"
        if text not in clocks:
            raise UserError(f"{mhz:g} MHz is no slot clock of {self.name!r}; choose one of {', '.join(sorted(clocks))}")
        return replace(self, config=self.config.but(slot_khz=clocks[text]))

    def with_line(self, name: str) -> Self:
        """Return the board with another line to its host."""
        if name not in LINES:
            raise unknown("line", name, LINES)
        if name != SERIAL and not self.fifo:
            raise UserError(f"the board {self.name!r} does not say where a FIFO goes (`fifo` of `Board`)")
        return replace(self, line=name)

    def with_blocks(self, blocks: Iterable[BlockConfig]) -> Self:
        """Return the board with these blocks in its NIC. Raises UserError for one that its link cannot serve."""
        blocks = tuple(blocks)
        for block in blocks:
            if block.taps_link:
                raise UserError(f"block {block.name!r} needs a switch that knows it at its link, which a board has not")
        return replace(self, config=self.config.but(blocks=blocks))

    def as_switch(self, ports: int | None = None) -> Self:
        """Return the board as a switch, with as many ports as its pins hold or with `ports`."""
        most = len(self.ports)
        if most < TWO_PORTS:
            raise UserError(f"the board {self.name!r} does not say where a switch's cables go (`ports` of `Board`)")
        if ports is not None and not TWO_PORTS <= ports <= most:
            raise UserError(
                f"{ports} ports do not go on {self.name!r}, whose pins hold {most} cables; give {TWO_PORTS} to {most}"
            )
        return replace(self, switch=most if ports is None else ports)
