"""Lab 2: the student's arbiter by itself, then within the real LBUS with a requester at each port."""

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import SlotCounter
from lanai_hdl.lbus import lbus
from lanai_hdl.lbus.masters import CPU, ENGINES, MASTERS, Edge, Master, master
from lanai_hdl.sram.memory import MemorySram

from ..task import Values, Wrong
from ._gateware import ENDLESS as ENDLESS
from ._gateware import PERCENT, check_ports, loaded

CONFIG = NicConfig(sram_size=4096)
OWN = 256  # bytes of each requester
Asks = dict[str, int]


def load(folder: Path) -> Any:
    return loaded(folder, "arbiter.py", "SlotArbiter")


def run(design: Any, values: Values) -> int:
    """Check every combination of requests; then let each master make `accesses`, and ask in `eager` of 100 slots in
    which it could. `masters` 0 are those of the NIC, another number is the seed of other ones."""
    masters = masters_of(values["masters"])
    for check in values.get("checks", CHECKS):
        _table(design, masters, CHECKS[check])
    return Traffic(design, masters, values["accesses"], values["eager"]).run()


def masters_of(seed: int) -> tuple[Master, ...]:
    """Return the masters of the NIC, or engines in another order and on other edges."""
    if not seed:
        return MASTERS
    chance = random.Random(seed)
    names = chance.sample([one.name for one in ENGINES], k=len(ENGINES))
    edges = chance.choices([Edge.FALLING, Edge.RISING], k=len(names))
    engines = [master(*one, 0x200 + 8 * n, one[0]) for n, one in enumerate(zip(names, edges, strict=True))]
    return (*engines, CPU)


def _made(design: Any, masters: Sequence[Master]) -> Any:
    made = design(masters)
    bits = lbus.master_bits(masters)
    check_ports(made, {"odd": In(1), "request": In(bits), "grant": Out(bits), "engine": Out(1)})
    return made


def _table(design: Any, masters: Sequence[Master], check: Any) -> None:
    """Apply a check to each combination of requests in both kinds of slots."""
    dut = _made(design, masters)
    bench = Bench(dut, 10)
    names = [one.name for one in masters]

    async def ask(context: Any) -> None:
        for odd, *bits in itertools.product((0, 1), repeat=1 + len(names)):
            asks = dict(zip(names, bits, strict=True))
            context.set(dut.odd, odd)
            context.set(dut.request, asks)
            await context.delay(1e-9)
            granted = [name for name in names if context.get(dut.grant[name])]
            for wrong in check(masters, odd, asks, granted, context.get(dut.engine)):
                raise Wrong(f"{_slot(odd)}, {_and(name for name in names if asks[name])} asked: {wrong}")

    bench.add(ask)
    bench.run()


def _slot(odd: int) -> str:
    return f"{'odd' if odd else 'even'} slot"


def _and(names: Any) -> str:
    return " and ".join(names) or "none"


def _served(masters: Sequence[Master], odd: int) -> list[str]:
    """Return the engines of an edge, the first in priority first."""
    return [one.name for one in masters[:-1] if (one.edge is Edge.FALLING) == bool(odd)]


def _one(masters: Sequence[Master], odd: int, asks: Asks, granted: list[str], engine: int) -> Iterator[str]:
    if len(granted) > 1:
        yield f"{_and(granted)} have the slot; only one may"
    for name in granted:
        if not asks[name]:
            yield f"{name} has the slot and did not ask"


def _edges(masters: Sequence[Master], odd: int, asks: Asks, granted: list[str], engine: int) -> Iterator[str]:
    allowed = [*_served(masters, odd), masters[-1].name]
    for name in granted:
        if name not in allowed:
            yield f"{name} has the slot, but is served in {_slot(not odd)}s"


def _priority(masters: Sequence[Master], odd: int, asks: Asks, granted: list[str], engine: int) -> Iterator[str]:
    first = next((name for name in _served(masters, odd) if asks[name]), None)
    if first is not None and granted != [first]:
        yield f"granted to {_and(granted)}; {first} goes first"


def _processor(masters: Sequence[Master], odd: int, asks: Asks, granted: list[str], engine: int) -> Iterator[str]:
    cpu = masters[-1].name
    if not odd and asks[cpu] and not granted and sum(asks.values()) == 1:
        yield f"{cpu} does not have the slot, though nobody else asks"
    if engine != any(name != cpu for name in granted):
        yield f"engine is {engine}, and the slot is granted to {_and(granted)}"


CHECKS = {"one": _one, "edges": _edges, "priority": _priority, "processor": _processor}


class Traffic:
    """The LBUS with the student's arbiter in place of its own, and a requester for each master."""

    def __init__(self, design: Any, masters: Sequence[Master], accesses: int, eager: int) -> None:
        self.accesses, self.eager = accesses, eager
        self.slot, self.left = 0, {one.name: accesses for one in masters}
        self.bus, sram = lbus.Lbus(CONFIG, masters), MemorySram(CONFIG)
        top = Module()
        top.submodules.lbus, top.submodules.sram, top.submodules.slots = self.bus, sram, (slots := SlotCounter())
        wiring.connect(top, self.bus.sram, sram.port)
        top.d.comb += self.bus.odd.eq(slots.now[0])
        self.limit = 100 + 40 * accesses * PERCENT // eager
        with mock.patch.object(lbus, "SlotArbiter", lambda masters: _made(design, masters)):
            self.bench = Bench(top, self.limit)

    def run(self) -> int:
        for index, name in enumerate(self.left):
            self.bench.add(self._requester(index, name))
        self.bench.add_background(self._count)
        try:
            self.bench.run()
        except TimeoutError:
            waits = _and(f"{name} for {left}" for name, left in self.left.items() if left)
            raise Wrong(f"after {self.limit} slots masters still wait for grants: {waits}") from None
        return self.slot

    async def _count(self, context: Any) -> None:
        while True:
            await context.tick()
            self.slot += any(self.left.values())

    def _requester(self, index: int, name: str) -> Any:
        async def access(context: Any) -> None:
            chance, known = random.Random(index), {}
            pins = PysimPins(context, self.bus.port(self.bus.masters[index]))
            while self.left[name]:
                while chance.randrange(PERCENT) >= self.eager:
                    await pins.step()
                addr = OWN * index + 4 * chance.randrange(8)
                write, value = addr not in known or chance.random() < 0.5, chance.getrandbits(32)
                pins.set(request=1, write=write, addr=addr, wdata=value, be=0b1111)
                while not (await pins.step("grant"))[0]:
                    pass
                pins.set(request=0)
                self.left[name] -= 1
                if write:
                    known[addr] = value
                elif (got := (await pins.step("rdata"))[0]) != known[addr]:
                    raise Wrong(f"{name} read {got:#010x} at {addr:#x}, where it had written {known[addr]:#010x}")

        return access
