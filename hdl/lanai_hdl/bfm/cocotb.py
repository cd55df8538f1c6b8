"""cocotb as a bench: the models' pins and both ends of streams on a converted component."""

import os
import random
from collections.abc import Iterable
from typing import Any

from amaranth import Const
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from ..errors import UserError
from .pins import Pins

INPUTS = "LANAI_INPUTS"  # the environment's variable that names the inputs of the top, as `begin` needs them


def value_of(handle: Any) -> int:
    """The value of a handle, with 0 for each bit that has none."""
    value = handle.value
    try:
        return int(value)
    except ValueError:
        return int("".join(bit if bit in "01" else "0" for bit in str(value)), 2)


class CocotbPins(Pins):
    """The interface `prefix` (`pio`, or `pio__0` of an array) of the top `dut`, whose clock is
    `clk`.

    Members are driven after the rising edge; `settled` reads them at the falling one, `step` just
    behind it, so that it sees what follows from what models that use `settled` drive there. A bit
    without a value (X or Z, in a simulator that has them) reads as 0.
    """

    def __init__(self, dut: Any, prefix: str) -> None:
        self.dut = dut
        self.prefix = prefix
        self._read = False  # in this slot, by `settled`

    def _handle(self, name: str) -> Any:
        return getattr(self.dut, f"{self.prefix}__{name}")

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self._handle(name).value = int(getattr(value, "value", value))

    def now(self, *names: str) -> tuple[int, ...]:
        return tuple(value_of(self._handle(name)) for name in names)

    async def settled(self, *names: str) -> tuple[int, ...]:
        await FallingEdge(self.dut.clk)
        self._read = True
        return self.now(*names)

    async def step(self, *names: str) -> tuple[int, ...]:
        if not self._read:
            await FallingEdge(self.dut.clk)
        self._read = False
        await Timer(1, "step")
        values = self.now(*names)
        await RisingEdge(self.dut.clk)
        return values


async def stream_put(
    dut: Any, prefix: str, shape: Any, values: Iterable[Any], *, idle: float = 0.0, seed: int = 0
) -> None:
    """Put values of `shape` (an Amaranth shape, a dictionary for a structure) into the stream
    `prefix` of the top, as `bfm.stream_put` does."""
    pins, chance = CocotbPins(dut, prefix), random.Random(seed)
    for value in values:
        while chance.random() < idle:
            await pins.step()
        pins.set(valid=1, payload=Const.cast(shape.const(value)).value if hasattr(shape, "const") else value)
        await pins.handshake()
        pins.set(valid=0)


async def stream_get(dut: Any, prefix: str, shape: Any, count: int, *, pause: float = 0.0, seed: int = 0) -> list[Any]:
    """Take `count` values of `shape` from the stream `prefix` of the top, as `bfm.stream_get`
    does."""
    pins, chance = CocotbPins(dut, prefix), random.Random(seed)
    taken: list[Any] = []
    while len(taken) < count:
        while chance.random() < pause:
            await pins.step()
        pins.set(ready=1)
        valid = 0
        while not valid:
            valid, payload = await pins.step("valid", "payload")
        pins.set(ready=0)
        taken.append(shape.from_bits(payload) if hasattr(shape, "from_bits") else payload)
    return taken


async def begin(dut: Any, slot_khz: int = 66_000, inputs: Iterable[str] | None = None) -> None:
    """Start the clock, with every input of the top 0 that has no value yet, and reset for some
    slots.

    `run_cocotb`, and the Makefile that `lanai verilog` writes, tell which ports are inputs. Where
    neither runs the bench, `inputs` names them.
    """
    if inputs is None:
        if INPUTS not in os.environ:
            raise UserError(f"begin() does not know the top's inputs: name them as inputs=, or set {INPUTS}")
        inputs = os.environ[INPUTS].split()
    await Timer(1, "step")  # what the bench has set itself is there then
    for name in inputs:
        handle = getattr(dut, name)
        if not handle.value.is_resolvable:
            handle.value = 0
    half = 10**9 // slot_khz // 2
    Clock(dut.clk, 2 * half, unit="ps").start()
    dut.rst.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def number_slots(dut: Any) -> None:
    """Drives `now` of a converted `Nic`, which its own top would: serves for ever."""
    slot = 0
    while True:
        slot += 1
        await RisingEdge(dut.clk)
        dut.now.value = slot
