"""NICs without firmware on a bench: puppets in their processors' places, models around them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from amaranth import Module

from ..config import NicConfig
from ..control.control import SlotCounter
from ..nic import Nic
from ..sram.memory import MemorySram
from ..systems.two_nics import TwoNics
from .hostmemory import HostMemory
from .link import LinkSink, LinkSource
from .pio import PioHost
from .puppet import Mastery, Puppet
from .pysim import Bench, PysimPins

SMALL = NicConfig(sram_size=16384)


class World:
    """What surrounds a NIC: `memory`, `host`, `firmware` (its puppet's strings); `sink` and `source` at the end of "
    "its link, if on its own."""

    memory: HostMemory
    host: PioHost
    firmware: Mastery
    sink: LinkSink
    source: LinkSource


Story = Callable[[Any, World], Awaitable[None]]


class Side:
    """A NIC with memory for SRAM (`init`: its first words) and its `world`. Its processor is a puppet unless one is given."""

    def __init__(self, config: NicConfig = SMALL, init: Iterable[int] = (), processor: Any = None) -> None:
        self.config = config
        self.puppet = Puppet() if processor is None else None
        self.sram = MemorySram(config, init)
        self.nic = Nic(config, sram=self.sram, processor=self.puppet if processor is None else processor)
        self.world = World()

    def peek(self, context: Any, address: int, size: int) -> bytes:
        """Bytes of SRAM, behind everybody's back."""
        words = (context.get(self.sram.memory.data[a // 4]) for a in range(address & ~3, address + size, 4))
        return b"".join(word.to_bytes(4, "big") for word in words)[address % 4 :][:size]

    def poke(self, context: Any, address: int, data: bytes) -> None:
        if address % 4 or len(data) % 4:
            raise ValueError(f"poke({address:#x}, {len(data)} bytes): whole words only")
        for n in range(0, len(data), 4):
            context.set(self.sram.memory.data[(address + n) // 4], int.from_bytes(data[n : n + 4], "big"))

    def lives(self, bench: Bench, pio: Any, mem: Any, story: Story, memory: dict[str, Any] | None) -> None:
        """Adds the story and the host memory to the bench."""

        async def serves(context: Any) -> None:
            self.world.memory = HostMemory(PysimPins(context, mem), **(memory or {}))
            await self.world.memory.serve()

        async def process(context: Any) -> None:
            self.world.host = PioHost(PysimPins(context, pio), self.nic.config.machine)
            if self.puppet is not None:
                self.world.firmware = self.puppet.mastery(context, self.nic.config.machine)
            await story(context, self.world)

        # A model belongs to the process that steps it; servants begin first, so that the story finds them.
        bench.meanwhile(serves)
        bench.does(process)


class Chip(Side):
    """One NIC with models at the end of its link."""

    def __init__(
        self, config: NicConfig = SMALL, *, slots: int = 60_000, init: Iterable[int] = (), processor: Any = None
    ) -> None:
        super().__init__(config, init, processor)
        top = Module()
        top.submodules.slots = counter = SlotCounter()
        top.submodules.nic = self.nic
        top.d.comb += self.nic.now.eq(counter.now)
        self.bench = Bench(top, slots)

    def does(
        self,
        story: Story,
        *,
        memory: dict[str, Any] | None = None,
        sink: dict[str, Any] | None = None,
        source: dict[str, Any] | None = None,
    ) -> None:
        """Runs `story(context, world)`; the keywords hold arguments of the models of those names."""

        async def sink_serves(context: Any) -> None:
            self.world.sink = LinkSink(PysimPins(context, self.nic.link_tx), **(sink or {}))
            await self.world.sink.serve()

        async def with_source(context: Any, world: World) -> None:
            world.source = LinkSource(PysimPins(context, self.nic.link_rx), **(source or {}))
            await story(context, world)

        self.bench.meanwhile(sink_serves)
        self.lives(self.bench, self.nic.pio, self.nic.mem, with_source, memory)
        self.bench.run()


class Pair:
    """Two NICs on one cable: `sides`."""

    def __init__(self, config: NicConfig = SMALL, *, slots: int = 60_000) -> None:
        self.sides = (Side(config), Side(config))
        self.top = TwoNics([side.nic for side in self.sides], config.link_latency)
        self.bench = Bench(self.top, slots)

    def does(self, *stories: Story) -> None:
        """Runs a story for each side, both at once."""
        for n, (side, story) in enumerate(zip(self.sides, stories, strict=True)):
            side.lives(self.bench, self.top.pio[n], self.top.mem[n], story, None)
        self.bench.run()
