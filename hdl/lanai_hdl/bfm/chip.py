"""NICs without firmware on a bench: processors that the bench drives, models around them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from amaranth import Module

from ..config import NicConfig
from ..control.control import SlotCounter
from ..nic import Nic
from ..sram.memory import MemorySram
from ..systems import TwoNics
from .bench_processor import BenchProcessor, FirmwareActions
from .hostmemory import HostMemory
from .kept import SIMULATIONS
from .link import LinkSink, LinkSource
from .pio import PioHost
from .pysim import Bench, PysimPins

SMALL = NicConfig(sram_size=16384)


class World:
    """The surroundings of a NIC: `memory`, `host`, `firmware` (what its bench processor can do), and for
    a NIC on its own `sink` and `source` at the end of its link."""

    memory: HostMemory
    host: PioHost
    firmware: FirmwareActions
    sink: LinkSink
    source: LinkSource


Script = Callable[[Any, World], Awaitable[None]]


class Gateware:
    """A NIC with memory for SRAM (`init`: its first words). The bench drives its processor unless
    one is given."""

    def __init__(self, config: NicConfig, init: Iterable[int] = (), processor: Any = None) -> None:
        self.bench_processor = BenchProcessor() if processor is None else None
        self.sram = MemorySram(config, init)
        self.nic = Nic(config, sram=self.sram, processor=self.bench_processor if processor is None else processor)


class Simulated:
    """The gateware of all sides, and its bench."""

    def __init__(self, parts: Sequence[Gateware], top: Any, slots: int) -> None:
        self.parts = parts
        self.top = top
        self.bench = Bench(top, slots)


class Side:
    """A NIC and its `world`."""

    def __init__(
        self,
        config: NicConfig = SMALL,
        init: Iterable[int] = (),
        processor: Any = None,
        gateware: Gateware | None = None,
    ) -> None:
        self.config = config
        self.gateware = gateware or Gateware(config, init, processor)
        self.bench_processor = self.gateware.bench_processor
        self.nic, self.sram = self.gateware.nic, self.gateware.sram
        self.world = World()
        self._rows = list(self.sram.memory.data)

    def peek(self, context: Any, address: int, size: int) -> bytes:
        """Bytes of SRAM, read without an access on the LBUS."""
        words = map(context.get, self._rows[address // 4 : -(-(address + size) // 4)])
        return b"".join(word.to_bytes(4, "big") for word in words)[address % 4 :][:size]

    def poke(self, context: Any, address: int, data: bytes) -> None:
        if address % 4 or len(data) % 4:
            raise ValueError(f"poke({address:#x}, {len(data)} bytes): whole words only")
        for n in range(0, len(data), 4):
            context.set(self._rows[(address + n) // 4], int.from_bytes(data[n : n + 4], "big"))

    def attach(self, bench: Bench, pio: Any, mem: Any, script: Script, memory: dict[str, Any] | None) -> None:
        """Add the script and the host memory to the bench."""

        async def serves(context: Any) -> None:
            self.world.memory = HostMemory(PysimPins(context, mem), **(memory or {}))
            await self.world.memory.serve()

        async def process(context: Any) -> None:
            self.world.host = PioHost(PysimPins(context, pio), self.nic.config.machine)
            if self.bench_processor is not None:
                self.world.firmware = self.bench_processor.actions(context, self.nic.config.machine)
            await script(context, self.world)

        # A model belongs to the process that steps it; servers begin first, so that the script
        # finds them.
        bench.add_background(serves)
        bench.add(process)


class Chip(Side):
    """One NIC with models at the end of its link."""

    def __init__(
        self, config: NicConfig = SMALL, *, slots: int = 60_000, init: Iterable[int] = (), processor: Any = None
    ) -> None:
        def make() -> Simulated:
            gateware, top = Gateware(config, init, processor), Module()
            top.submodules.slots = counter = SlotCounter()
            top.submodules.nic = gateware.nic
            top.d.comb += gateware.nic.now.eq(counter.now)
            return Simulated([gateware], top, slots)

        init = tuple(init)
        made = make() if processor is not None else SIMULATIONS.take(("chip", config, init), slots, make)
        super().__init__(config, gateware=made.parts[0])
        self.bench = made.bench

    def run(
        self,
        script: Script,
        *,
        memory: dict[str, Any] | None = None,
        sink: dict[str, Any] | None = None,
        source: dict[str, Any] | None = None,
    ) -> None:
        """Runs `script(context, world)`; the keywords hold arguments of the models of those
        names."""

        async def sink_serves(context: Any) -> None:
            self.world.sink = LinkSink(PysimPins(context, self.nic.link_tx), **(sink or {}))
            await self.world.sink.serve()

        async def with_source(context: Any, world: World) -> None:
            world.source = LinkSource(PysimPins(context, self.nic.link_rx), **(source or {}))
            await script(context, world)

        self.bench.add_background(sink_serves)
        self.attach(self.bench, self.nic.pio, self.nic.mem, with_source, memory)
        self.bench.run()


class Pair:
    """Two NICs on one cable: `sides`."""

    def __init__(self, config: NicConfig = SMALL, *, slots: int = 60_000) -> None:
        def make() -> Simulated:
            parts = [Gateware(config) for _ in range(2)]
            return Simulated(parts, TwoNics([part.nic for part in parts], config.link_latency), slots)

        made = SIMULATIONS.take(("pair", config), slots, make)
        self.sides = [Side(config, gateware=part) for part in made.parts]
        self.top, self.bench = made.top, made.bench

    def run(self, *scripts: Script) -> None:
        """Run a script for each side, both at once."""
        for n, (side, script) in enumerate(zip(self.sides, scripts, strict=True)):
            side.attach(self.bench, self.top.pio[n], self.top.mem[n], script, None)
        self.bench.run()
