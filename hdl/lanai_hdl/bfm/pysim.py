"""Amaranth's simulator as a bench: pins, streams, a watchdog."""

import linecache
import os
import random
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from amaranth import ClockDomain, Module
from amaranth.sim import Simulator

from .incremental import IncrementalEngine
from .pins import Pins
from .shapes import shapes_kept


class PysimPins(Pins):
    """The interface `interface` of a component in Amaranth's simulator."""

    def __init__(self, context: Any, interface: Any) -> None:
        self.context = context
        self.interface = interface

    def set(self, **values: int) -> None:
        for name, value in values.items():
            self.context.set(getattr(self.interface, name), value)

    def now(self, *names: str) -> tuple[int, ...]:
        return tuple(number(self.context.get(getattr(self.interface, name))) for name in names)

    async def settled(self, *names: str) -> tuple[int, ...]:
        return self.now(*names)

    async def step(self, *names: str) -> tuple[int, ...]:
        _, _, *values = await self.context.tick().sample(*(getattr(self.interface, name) for name in names))
        return tuple(number(value) for value in values)


def number(value: Any) -> int:
    """A sampled value as a number, enumerations included."""
    return int(getattr(value, "value", value))


def simulator(top: Any) -> Simulator:
    """Amaranth's simulator of `top`, with our engine: the same results, sooner."""
    with shapes_kept():
        return Simulator(top, engine=IncrementalEngine)


class Running:
    """A process of a bench that has not ended: `coroutine` refers to it."""

    def __init__(self) -> None:
        self.coroutine: Callable[[], Any] = lambda: None


class Bench:
    """Runs `dut` with processes `async def process(context)` for at most `slots` slots.

    The run ends when all processes added by `add` have ended; those added by `add_background` run
    until then. A run that reaches the limit raises TimeoutError, which says where each process that
    has not ended waits: nothing in a NIC may hang.

    `ended`: a run has come to its end. `restart` makes the bench ready for another.
    """

    def __init__(self, dut: Any, slots: int = 100_000) -> None:
        self.slots = slots
        top = Module()
        top.domains.sync = ClockDomain()  # even if the component has no use for a clock, the bench has
        top.submodules.dut = dut
        self.simulator = simulator(top)
        self.simulator.add_clock(1 / 66e6)
        self.open: list[Running] = []
        self.ended = False
        self.simulator.add_process(self._watchdog)

    def restart(self, slots: int) -> None:
        """Reset the simulation: no processes, all signals and memories at their initial values."""
        self.slots, self.open, self.ended = slots, [], False
        self.simulator._engine.forget_testbenches()
        self.simulator.reset()

    def load(self, memory: Any, words: Iterable[int]) -> None:
        """Before a run: the first rows of a memory, an `amaranth.lib.memory.Memory`."""
        self.simulator._engine.load(memory.data, list(words))

    def add(self, process: Callable[[Any], Any]) -> None:
        running = Running()
        self.open.append(running)

        async def noted(context: Any) -> None:
            coroutine = process(context)
            running.coroutine = weakref.ref(coroutine)
            await coroutine
            self.open.remove(running)

        self.simulator.add_testbench(noted)

    def add_background(self, process: Callable[[Any], Any]) -> None:
        self.simulator.add_testbench(process, background=True)

    async def _watchdog(self, context: Any) -> None:
        for _ in range(self.slots):
            await context.tick()
        if self.open:
            waits = ["\n  ".join(waits_of(running.coroutine())) for running in self.open]
            raise TimeoutError("\n".join([f"the bench did not end within {self.slots} slots; it waits in", *waits]))

    def run(self, wave: str | None = None) -> None:
        """Run; with `wave`, write a VCD file of that name."""
        if wave is None:
            self.simulator.run()
        else:
            with self.simulator.write_vcd(wave):
                self.simulator.run()
        self.ended = True


async def stream_put(context: Any, stream: Any, values: Iterable[Any], *, idle: float = 0.0, seed: int = 0) -> None:
    """Put values into a stream; before each, slots without `valid` as chance `idle` will have
    it."""
    chance = random.Random(seed)
    for value in values:
        while chance.random() < idle:
            await context.tick()
        context.set(stream.payload, value)
        context.set(stream.valid, 1)
        while not (await context.tick().sample(stream.ready))[2]:
            pass
        context.set(stream.valid, 0)


async def stream_get(context: Any, stream: Any, count: int, *, pause: float = 0.0, seed: int = 0) -> list[Any]:
    """Take `count` values from a stream; before each, slots without `ready` as chance `pause` will
    have it."""
    chance = random.Random(seed)
    taken = []
    for _ in range(count):
        while chance.random() < pause:
            await context.tick()
        context.set(stream.ready, 1)
        valid = 0
        while not valid:
            _, _, valid, payload = await context.tick().sample(stream.valid, stream.payload)
        context.set(stream.ready, 0)
        taken.append(payload)
    return taken


def waits_of(coroutine: Any) -> Iterator[str]:
    """Describe each frame of a suspended coroutine, from the outermost to the one that waits: its function,
    place and source line."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is None:
            return
        yield _described(frame)
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)


def _described(frame: FrameType) -> str:
    code, line = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, line).strip()
    place = os.path.relpath(code.co_filename)
    if place.startswith(os.pardir):
        place = code.co_filename
    return f"{code.co_qualname.rpartition('<locals>.')[2]}, {place}:{line}: {text}"
