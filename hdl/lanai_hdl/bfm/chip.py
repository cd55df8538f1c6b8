"""A NIC without firmware on a bench: the puppet in its processor's place, models around it."""

from amaranth import Module

from ..config import NicConfig
from ..control import SlotCounter
from ..nic import Nic
from ..sram import MemorySram
from .hostmemory import HostMemory
from .link import LinkSink, LinkSource
from .pio import PioHost
from .puppet import Mastery, Puppet
from .pysim import Bench, PysimPins

SMALL = NicConfig(sram_size=16384)


class Chip:
    """`nic` with its slot counter; `bench` to run it; models as asked for."""

    def __init__(self, config=SMALL, *, slots=60_000, init=()):
        self.config = config
        self.puppet = Puppet()
        self.sram = MemorySram(config, init)
        self.nic = Nic(config, sram=self.sram, processor=self.puppet)
        top = Module()
        top.submodules.slots = counter = SlotCounter()
        top.submodules.nic = self.nic
        top.d.comb += self.nic.now.eq(counter.now)
        self.now = counter.now
        self.bench = Bench(top, slots)

    def peek(self, context, address, size):
        """Bytes of SRAM, behind everybody's back."""
        words = (context.get(self.sram.memory.data[a // 4]) for a in range(address & ~3, address + size, 4))
        return b"".join(word.to_bytes(4, "big") for word in words)[address % 4 :][:size]

    def poke(self, context, address, data):
        assert address % 4 == len(data) % 4 == 0
        for n in range(0, len(data), 4):
            context.set(self.sram.memory.data[(address + n) // 4], int.from_bytes(data[n : n + 4], "big"))

    def does(self, story, *, memory=None, sink=None, source=None):
        """Runs `story(context, world)`; the other keywords hold arguments of the models of those names."""
        world = World()

        async def memory_serves(context):
            world.memory = HostMemory(PysimPins(context, self.nic.mem), **(memory or {}))
            await world.memory.serve()

        async def sink_serves(context):
            world.sink = LinkSink(PysimPins(context, self.nic.link_tx), **(sink or {}))
            await world.sink.serve()

        async def process(context):
            world.source = LinkSource(PysimPins(context, self.nic.link_rx), **(source or {}))
            world.host = PioHost(PysimPins(context, self.nic.pio))
            world.firmware = self.puppet.mastery(context)
            await story(context, world)

        # A model belongs to the process that steps it; these two begin first, so that the story finds them.
        self.bench.meanwhile(memory_serves)
        self.bench.meanwhile(sink_serves)
        self.bench.does(process)
        self.bench.run()


class World:
    """What surrounds a chip: `memory`, `sink`, `source`, `host`, and `firmware`, its puppet's strings."""

    memory: HostMemory
    sink: LinkSink
    source: LinkSource
    host: PioHost
    firmware: Mastery
