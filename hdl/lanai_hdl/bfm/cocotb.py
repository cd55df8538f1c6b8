"""cocotb as a bench: the models' pins on a converted component."""

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from .pins import Pins


class CocotbPins(Pins):
    """The interface `prefix` (`pio`, or `pio__0` of an array) of the top `dut`, whose clock is `clk`.

    Members are driven after the rising edge and read at the falling one, when everything that follows from them has settled.
    """

    def __init__(self, dut: Any, prefix: str) -> None:
        self.dut = dut
        self.prefix = prefix

    def _handle(self, name: str) -> Any:
        return getattr(self.dut, f"{self.prefix}__{name}")

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self._handle(name).value = int(getattr(value, "value", value))

    def now(self, *names: str) -> tuple[int, ...]:
        return tuple(int(self._handle(name).value) for name in names)

    async def step(self, *names: str) -> tuple[int, ...]:
        await FallingEdge(self.dut.clk)
        values = self.now(*names)
        await RisingEdge(self.dut.clk)
        return values


async def begin(dut: Any, slot_khz: int = 66_000) -> None:
    """Start the clock, with every input of the top 0, and reset for some slots."""
    for handle in dut:
        # Amaranth joins the parts of a port's name with two underscores; only inputs can be set, and outputs do not mind.
        if "__" in handle._name and not handle._name.startswith("\\"):
            handle.value = 0
    half = 10**9 // slot_khz // 2
    Clock(dut.clk, 2 * half, unit="ps").start()
    dut.rst.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
