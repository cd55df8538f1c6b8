"""A NIC whose every byte is known. Whatever is done to it: it does not hang, nothing is written
where it should not be, all is counted once."""

import random
from collections import Counter
from dataclasses import dataclass, field

from amaranth import Module
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.chip import Chip, Side
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import SlotCounter
from lanai_hdl.link.cable import Cable
from lanai_hdl.machine import COUNTER_NAMES, LEVEL_EVENTS, PAGE_SIZE, Event, HostDmaStart, SendStart, Verdict

SRAM = 8192
CONFIG = NicConfig(sram_size=SRAM)
PATTERN = random.Random(1).randbytes(SRAM)
HOST, HOST_SIZE = 0x10000, 2 * PAGE_SIZE  # what the host's memory holds at first, beside zeros
HOST_PATTERN = random.Random(2).randbytes(HOST_SIZE)

WHOLE = SendStart.FIRST | SendStart.LAST
ORDINARY = (
    *("BUS_BURSTS", "BUS_BEATS", "PIO_READS", "PIO_WRITES", "DOORBELLS", "TX_PACKETS", "TX_FLITS", "TX_STOPPED"),
    *("RX_PACKETS", "RX_FLITS", "RX_STOPS"),
)
MISHAPS = tuple(name for name in COUNTER_NAMES if name not in ORDINARY and not name.startswith("SLOTS_"))

# Memory of the sanity transfer after each fault; faults do not touch it.
FED, ARRIVAL, SIZE = 0x1C00, 0x1E00, 13
UPLOAD = 0x48003


@dataclass
class Told:
    """The changes that a fault may make: `counts` of mishaps, sticky `events`, bytes in `sram` and in
    `host` memory by address."""

    counts: dict[str, int] = field(default_factory=dict)
    events: int = 0  # of `machine.Event`
    sram: dict[int, bytes] = field(default_factory=dict)
    host: dict[int, bytes] = field(default_factory=dict)


class Nic:
    """The NIC that a fault is injected into: the parts of the chip's `world` by their names, and the
    expected content of its memories."""

    def __init__(self, side, context, world):
        self.side, self.context, self.world = side, context, world
        self.firmware, self.host, self.memory = world.firmware, world.host, world.memory
        self.source, self.sink = getattr(world, "source", None), getattr(world, "sink", None)
        self.sram = bytearray(PATTERN)
        self.pages = {HOST // PAGE_SIZE + n: bytearray(HOST_PATTERN[PAGE_SIZE * n :][:PAGE_SIZE]) for n in range(2)}
        self.counts = Counter()
        side.poke(context, 0, PATTERN)
        world.memory.load(HOST, HOST_PATTERN)

    async def slots(self, count):
        for _ in range(count):
            await self.context.tick()

    async def take(self):
        """The oldest finished packet, popped: (verdict, length)."""
        while not await self.firmware.load("RECV_DONE") or not await self.firmware.load("RECV_VERDICT"):
            pass
        result = await self.firmware.load("RECV_VERDICT"), await self.firmware.load("RECV_LENGTH")
        await self.firmware.store("RECV_VERDICT", 0)
        return result

    async def look(self, name, told):
        """Check that only the expected changes have happened, and that the NIC still works."""
        await self.slots(4)  # a level falls, and a count shows, some slots after its cause
        isr = await self.firmware.load("ISR")
        assert isr & ~LEVEL_EVENTS == told.events, f"{name}: events {Event(isr)!r}"
        await self.sanity_transfer(name)
        await self.firmware.store("ISR", ~0)
        self.counts.update(told.counts)
        await self.slots(4)
        counted = {mishap: await self.firmware.load(mishap) for mishap in MISHAPS}
        assert {mishap: count for mishap, count in counted.items() if count} == +self.counts, name
        for address, data in told.sram.items():
            self.sram[address : address + len(data)] = data
        for address, data in told.host.items():
            self._host_writes(address, data)
        self._compare(name)

    async def sanity_transfer(self, name):
        """Bytes from the host to the wire as they come, from the wire to the host; then rest."""
        firmware, chance = self.firmware, random.Random(name)
        data = chance.randbytes(SIZE)
        self.memory.load(HOST + 0x1F03, data)
        self._host_writes(HOST + 0x1F03, data)
        await firmware.post(ARRIVAL, ARRIVAL + 0x100)
        await firmware.host_dma(HOST + 0x1F03, FED, SIZE, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
        await firmware.send(0, FED, SIZE, WHOLE | SendStart.CHASE)
        self.sram[FED : FED + SIZE] = data
        words = [int.from_bytes(self.sram[FED + n : FED + n + 4], "big") for n in range(0, SIZE, 4)]
        if self.sink is not None:
            count = len(self.sink.packets) + 1
            while len(self.sink.packets) < count:
                await self.context.tick()
            assert (self.sink.packets[-1].words, self.sink.packets[-1].sound) == (words, True), name
            await self.source.send(words)
        assert await self.take() == (Verdict.VALID, 4 * len(words)), name
        arrived = b"".join(word.to_bytes(4, "big") for word in words)
        self.sram[ARRIVAL : ARRIVAL + len(arrived)] = arrived
        done = await firmware.load("HDMA_DONE") + 1
        await firmware.host_dma(UPLOAD, ARRIVAL, SIZE, HostDmaStart.TO_HOST)
        await firmware.until("HDMA_DONE", done)
        self._host_writes(UPLOAD, data)
        await self.host.write_register("SCRATCH7", words[0])
        assert await self.host.read_register("SCRATCH7") == words[0], name
        for _ in range(60):
            await self.context.tick()
            if self.context.get(self.side.nic.idle):
                return
        raise AssertionError(f"{name}: the NIC does not come to rest")

    def _host_writes(self, address, data):
        for index, byte in enumerate(data, address):
            self.pages.setdefault(index // PAGE_SIZE, bytearray(PAGE_SIZE))[index % PAGE_SIZE] = byte

    def _compare(self, name):
        sram = self.side.peek(self.context, 0, SRAM)
        wrong = [hex(at) for at in range(SRAM) if sram[at] != self.sram[at]]
        assert not wrong, f"{name}: SRAM changed at {wrong[:8]}"
        for number, page in self.memory.pages.items():
            assert page == self.pages.get(number, bytes(PAGE_SIZE)), f"{name}: page {number:#x} of the host changed"


def survive(*faults, config=CONFIG, slots=60_000, **models):
    """Does one fault after another to one NIC, `async def fault(nic) -> Told`, and looks at all of
    it after each."""
    chip = Chip(config, slots=slots)
    chip.run(_script(chip, faults), **models)


def survive_on_a_loop(*faults, config=CONFIG, slots=60_000):
    """The same, with a NIC whose cable leads back to itself: what it sends it receives."""
    side, top = Side(config), Module()
    top.submodules.slots, top.submodules.nic = counter, nic = SlotCounter(), side.nic
    top.submodules.cable = cable = Cable(config.link_latency)
    wiring.connect(top, nic.link_tx, cable.i)
    wiring.connect(top, cable.o, nic.link_rx)
    top.d.comb += nic.now.eq(counter.now)
    bench = Bench(top, slots)
    side.attach(bench, nic.pio, nic.mem, _script(side, faults), None)
    bench.run()


def _script(side, faults):
    async def script(context, world):
        nic = Nic(side, context, world)
        for fault in faults:
            name = getattr(fault, "__name__", str(fault))
            await nic.look(name, await fault(nic))

    return script
