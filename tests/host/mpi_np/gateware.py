"""Two NICs of real gateware with the compiled firmware, on a cable in Amaranth's simulator; the driver runs over this bus unchanged."""

import ctypes
from types import SimpleNamespace

from lanai_firmware.compiler import build
from lanai_firmware.mcp import main
from lanai_firmware.mcp.plan import Line, McpConfig
from lanai_hdl.bfm import HostMemory, PioHost
from lanai_hdl.bfm.pysim import Bench, PysimPins
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, host_offset
from lanai_hdl.nic import Nic
from lanai_hdl.sram import MemorySram
from lanai_hdl.two_nics import TwoNics
from lanai_host.bus import PAGE_SIZE, Bus, HostBuffer, Pinned
from lanai_host.config import free
from lanai_host.devices.mpi_np import MpiNp
from lanai_host.driver import boot, channel_number, window_of

SLOT_PS = 15_152
CONFIG = McpConfig(messages=8, receives=8, any_receives=2, ack_slots=2)


class PysimBus(Bus):
    """Host memory is the bench's; user memory that is pinned is copied there at each look, as the bench is not this process."""

    def __init__(self, context, side):
        self.context, self.side = context, side
        self.place = window_of(0)
        self.slots = 0
        self.marks = []

    @property
    def now(self):
        return int(self.context.elapsed_time().picoseconds) if hasattr(self.context, "elapsed_time") else 0

    async def read(self, offset):
        return await self.side.host.read(offset)

    async def write(self, offset, value):
        await self.side.host.write(offset, value)

    async def write_block(self, offset, data):
        if len(data) > 2048 and offset < 0x100000:  # loading by PIO takes hours here
            for n in range(0, len(data) & ~3, 4):
                self.context.set(self.side.sram.memory.data[(offset + n) // 4], int.from_bytes(data[n : n + 4], "big"))
            offset, data = offset + (len(data) & ~3), data[len(data) & ~3 :]
        head = offset % 4
        padded = bytes(head) + data + bytes(-(head + len(data)) % 4)
        words = [int.from_bytes(padded[n : n + 4], "big") for n in range(0, len(padded), 4)]
        if head or len(data) % 4:
            for n, word in enumerate(words):
                be = sum(1 << (3 - b) for b in range(4) if head <= 4 * n + b < head + len(data))
                await self.side.host.write(offset - head + 4 * n, word, be)
        elif words:
            await self.side.host.write_words(offset, words)

    async def read_block(self, offset, size):
        first = offset & ~3
        words = await self.side.host.read_words(first, (offset + size + 3 - first) // 4)
        return b"".join(w.to_bytes(4, "big") for w in words)[offset - first :][:size]

    def allocate(self, size):
        size = -(-size // PAGE_SIZE) * PAGE_SIZE
        view = self.side.memory.map(self.place, bytearray(size))
        self.place += size
        return HostBuffer(self.place - size, view)

    async def pin(self, address, size, writable):
        bus, self.place = self.place, self.place + size
        self.side.memory.map(bus, (ctypes.c_ubyte * size).from_address(address))
        return Pinned(address, size, writable, tuple(range(bus, bus + size, PAGE_SIZE)))

    async def unpin(self, pinned):
        for page in pinned.pages:
            del self.side.memory.pages[page // PAGE_SIZE]

    async def wait_change(self, buffer, offset, seen, why=None):
        while (word := int.from_bytes(buffer.view[offset : offset + 4], "big")) == seen:
            await self.context.tick()
        return word

    async def elapse(self, picoseconds):
        for _ in range(-(-picoseconds // SLOT_PS)):
            await self.context.tick()


class SharedMemory(HostMemory):
    """Host memory whose pages are views of memory that the test holds."""

    def map(self, address, backing):
        view = memoryview(backing).cast("B")
        for n in range(0, len(view), PAGE_SIZE):
            self.pages[(address + n) // PAGE_SIZE] = view[n : n + PAGE_SIZE]
        return view


def run_pair(story, config=None, host=None, slots=400_000, mcp=CONFIG, latency=8):
    """Boot two NICs and run `story(device, bus)` as rank 0 and 1. Returns what the stories return."""
    nic_config = config or lanai41()
    image = build(main.main, nic_config)
    sides = []
    for _ in range(2):
        sram = MemorySram(nic_config, ())
        sides.append(SimpleNamespace(sram=sram, nic=Nic(nic_config, sram=sram)))
    top = TwoNics([side.nic for side in sides], latency)
    bench = Bench(top, slots)
    results = [None, None]
    attached = [None, None]
    for number, side in enumerate(sides):

        async def serves(context, side=side, number=number):
            side.memory = SharedMemory(PysimPins(context, top.mem[number]))
            await side.memory.serve()

        async def process(context, side=side, number=number):
            side.host = PioHost(PysimPins(context, top.pio[number]))
            bus = PysimBus(context, side)
            lines = {(number, peer): Line(0, channel_number(0, 2, number)) for peer in range(2)}
            attached[number] = (await boot(bus, image, mcp, 2, [number], lines))[0]
            device = MpiNp(bus, attached[number], host or free())
            while None in attached:
                await context.tick()
            results[number] = await story(device, bus, context)

        bench.meanwhile(serves)
        bench.does(process)
    bench.run()
    return results


async def cycles(bus):
    return await bus.read(host_offset("CYCLES"))


__all__ = ["SRAM_HOST", "cycles", "run_pair"]
