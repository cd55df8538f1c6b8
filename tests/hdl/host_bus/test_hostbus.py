"""Host bus: what PIO costs, what it cannot reach, and how it gets in between bursts."""

import pytest
from amaranth import Module
from amaranth.lib import wiring

from lanai_hdl.bfm import Bench, HostMemory, PioHost, PysimPins, SramModel, stream_get, stream_put
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.control.register_file import RegisterFile
from lanai_hdl.host_bus.bus import HostBus
from lanai_hdl.host_bus.clock import HostClock
from lanai_hdl.machine import BY_NAME, REGISTERS_HOST, host_offset

CONFIG = NicConfig(sram_size=8192)
CLOCK = CONFIG.slot_khz // CONFIG.host_bus_khz  # slots


class Wired:
    def __init__(self, config, slots):
        self.bus, self.registers = HostBus(config), RegisterFile()
        top = Module()
        top.submodules.bus, top.submodules.registers = self.bus, self.registers
        wiring.connect(top, self.bus.registers, self.registers.host)
        self.bench = Bench(top, slots)


class Bus:
    """The host bus with registers and a model of the SRAM."""

    def __init__(self, config=CONFIG, slots=10_000):
        made = SIMULATIONS.take(("host bus", config), slots, lambda: Wired(config, slots))
        self.bus, self.registers, self.bench = made.bus, made.registers, made.bench
        self.slot = 0
        self.faults = 0

    def run(self, script, **sram):
        async def sram_serves(context):
            self.sram = SramModel(PysimPins(context, self.bus.lbus), 8192, **sram)
            await self.sram.serve()

        async def memory_serves(context):
            self.memory = HostMemory(PysimPins(context, self.bus.mem))
            await self.memory.serve()

        async def watch(context):
            async for *_, fault, unknown in context.tick().sample(self.bus.fault, self.registers.unknown):
                self.slot += 1
                self.faults += fault + unknown

        async def run(context):
            await script(context, PioHost(PysimPins(context, self.bus.pio)))

        for server in (sram_serves, memory_serves, watch):
            self.bench.add_background(server)
        self.bench.add(run)
        self.bench.run()


@pytest.mark.parametrize(
    ("slot_khz", "host_bus_khz"), [(66_000, 33_000), (50_000, 33_000), (66_000, 66_000), (66_000, 12_345)]
)
def test_the_bus_clock_keeps_its_rate(slot_khz, host_bus_khz):
    dut = HostClock(NicConfig(slot_khz=slot_khz, host_bus_khz=host_bus_khz))
    bench = Bench(dut, 3000)

    async def count(context):
        context.set(dut.run, 1)
        ticks = 0
        for _ in range(2000):
            ticks += context.get(dut.tick)
            await context.tick()
        assert ticks == 2000 * host_bus_khz // slot_khz

    bench.add(count)
    bench.run()


@pytest.mark.parametrize("refuse", [0.0, 0.6])
def test_what_is_written_is_read_back(refuse):
    async def script(context, host):
        values = [0x01020304 * n & 0xFFFFFFFF for n in range(1, 40)]
        await host.write_words(0x40, values)
        assert await host.read_words(0x40, len(values)) == values
        await host.write(0x40, 0, be=0b1000)
        assert await host.read(0x40) == 0x00020304

    bus = Bus()
    bus.run(script, refuse=refuse, seed=3)
    assert bus.faults == 0


def test_combined_writes_cost_a_clock_a_word_and_a_setup_a_line(expected):
    """NP-59: the best sizes are multiples of the host's 32-byte line."""
    slots = {}

    async def script(context, host):
        for words in (1, 7, 8, 9, 16):
            await context.tick().repeat(20)
            begin = bus.slot
            await host.write_words(0x100, range(words))
            while not context.get(bus.bus.idle):
                await context.tick()
            slots[words] = bus.slot - begin

    bus = Bus()
    bus.run(script)
    assert slots[8] - slots[7] == CLOCK
    assert slots[9] - slots[8] > 2 * CLOCK
    per_line = slots[16] - slots[8]
    assert per_line >= 8 * CLOCK + CONFIG.pio_write_setup * CLOCK
    expected("nic.pio.slots_write_32_bytes", slots[8])
    expected("nic.pio.slots_write_64_bytes", slots[16])


@pytest.mark.parametrize("offset", [8192, 0x0FFFFC, REGISTERS_HOST + 0x1000, 0x1FFFFC, host_offset("ID") + 0xFFC])
def test_outside_the_map_nothing_is_written_and_ones_are_read(offset):
    inside = REGISTERS_HOST <= offset < REGISTERS_HOST + 0x1000

    async def script(context, host):
        await host.write(offset, 0x12345678)
        assert await host.read(offset) == (0 if inside else 0xFFFFFFFF)
        assert bus.sram.log == []

    bus = Bus()
    bus.run(script)
    assert bus.faults == 2


def test_partial_writes_to_registers_are_ignored_and_counted():
    async def script(context, host):
        await host.write_register("SCRATCH0", 5)
        await host.write(host_offset("SCRATCH0"), 0xFFFF, be=0b0011)
        assert await host.read_register("SCRATCH0") == 5

    bus = Bus()
    bus.run(script)
    assert bus.faults == 1


def test_the_host_may_not_write_what_is_the_processors():
    async def script(context, host):
        for name in ("HDMA_HOST", "SEND_POINTER", "ID"):
            await host.write_register(name, 0xFFFFFFFF)
            assert context.get(bus.registers.value(BY_NAME["HDMA_HOST"])) == 0
            assert context.get(bus.registers.value(BY_NAME["SEND_POINTER"])) == 0

    bus = Bus()
    bus.run(script)


def test_pio_gets_in_between_bursts():
    """While a long burst runs, the bus is given up after the latency timer; the burst then goes on
    where it was."""
    burst = {"write": 0, "word": 0x400, "words": 256}

    async def script(context, host):
        await context.tick().repeat(60)
        begin = bus.slot
        await host.write(0, 1)
        assert await host.read(0) == 1
        assert bus.slot - begin < CLOCK * (CONFIG.latency_timer + 40)
        while not context.get(bus.bus.idle):
            await context.tick()

    got = []

    async def engine(context):
        await stream_put(context, bus.bus.engine.burst, [burst])
        got.extend(await stream_get(context, bus.bus.engine.read, 256))

    bus = Bus()
    bus.bench.add(engine)
    bus.run(script)
    assert [address for _, _, address in bus.memory.log] == [4 * (0x400 + n) for n in range(256)]
    assert len(got) == 256


def test_an_engine_without_data_leaves_the_bus():
    """A write burst whose words do not come: the bus is free for the host, and the burst ends when
    they do."""
    burst = {"write": 1, "word": 0x400, "words": 8}
    words = [{"data": n, "be": 0b1111} for n in range(8)]

    async def engine(context):
        await stream_put(context, bus.bus.engine.burst, [burst])
        await stream_put(context, bus.bus.engine.write, words[:3])
        await context.tick().repeat(300)
        await stream_put(context, bus.bus.engine.write, words[3:])

    async def script(context, host):
        await context.tick().repeat(100)
        begin = bus.slot
        await host.write(0, 1)
        assert await host.read(0) == 1
        assert bus.slot - begin < 40 * CLOCK
        while len(bus.memory.log) < 8:
            await context.tick()
        assert bus.memory.dump(0x1000, 32) == b"".join(n.to_bytes(4, "big") for n in range(8))

    bus = Bus()
    bus.bench.add(engine)
    bus.run(script)
