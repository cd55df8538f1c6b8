"""The rates of the engines: exact figures of the 1999 testbed, each with its bound in
`NicConfig`."""

import random
from itertools import pairwise

import pytest

from lanai_hdl.bfm import Chip
from lanai_hdl.config import lanai41
from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import HostDmaStart, SendStart

PAGE = 4096
PAGES = 2
CONFIG = lanai41().but(sram_size=32768)


def blob(size, seed=1):
    return random.Random(seed).randbytes(size)


def mb_per_second(size, slots, config=CONFIG):
    return round(size * config.slot_khz / slots / 1000, 3)


async def queue_pages(world, count, flags):
    firmware = world.firmware
    for page in range(count):
        await firmware.host_dma(0x10000 + page * PAGE, page * PAGE, PAGE, flags)
    await firmware.until("HDMA_DONE", count)


def measure_host_dma(flags):
    """Two pages, queued at once: slots from the first beat to the last, and bytes a host bus clock
    within bursts."""
    found = {}

    async def script(context, world):
        data = blob(PAGES * PAGE)
        world.memory.load(0x10000, data)
        chip.poke(context, 0, data)
        await queue_pages(world, PAGES, flags)
        slots = [slot for slot, _, _ in world.memory.log]
        assert len(slots) == PAGES * PAGE // 4
        found["slots"] = slots[-1] - slots[0] + 1
        bursts = [pair for pair in pairwise(world.memory.log) if pair[1][2] % CONFIG.max_burst]
        between = {later[0] - earlier[0] for earlier, later in bursts}
        found["bytes_per_clock"] = {4 * CONFIG.slot_khz / (gap * CONFIG.host_bus_khz) for gap in between}
        found["sound"] = chip.peek(context, 0, len(data)) == data == world.memory.dump(0x10000, len(data))

    chip = Chip(CONFIG)
    chip.run(script)
    assert found["sound"]
    return found


@pytest.mark.bench
@pytest.mark.slow
def test_host_dma_reads_above_125_mb_per_second(expected):
    found = measure_host_dma(HostDmaStart.TO_SRAM)
    rate = mb_per_second(PAGES * PAGE, found["slots"])
    assert rate >= 125
    expected("nic.host_dma.read_mb_per_second", rate)
    (in_bursts,) = found["bytes_per_clock"]
    expected("nic.host_dma.burst_bytes_per_clock", in_bursts)


@pytest.mark.bench
@pytest.mark.slow
def test_host_dma_writes_above_125_mb_per_second(expected):
    found = measure_host_dma(HostDmaStart.TO_HOST)
    rate = mb_per_second(PAGES * PAGE, found["slots"])
    assert rate >= 125
    assert found["bytes_per_clock"] == {4}
    expected("nic.host_dma.write_mb_per_second", rate)


@pytest.mark.bench
@pytest.mark.slow
def test_host_bus_and_link_work_at_once(expected):
    """A page comes from the host while another leaves for the wire, the processor idle: neither
    slows the other.

    The send DMA has one edge of the LBUS and so feeds the link 132 MB/s at 66 MHz, of the 160 that
    the link could carry.
    """
    found = {}

    async def script(context, world):
        firmware = world.firmware
        await firmware.send(0, 0x4000, PAGE, SendStart.FIRST | SendStart.LAST)
        await firmware.host_dma(0x10000, 0, PAGE, HostDmaStart.TO_SRAM)
        await firmware.until("HDMA_DONE", 1)
        while not world.sink.packets:
            await context.tick()
        data = [slot for slot, kind, _ in world.sink.flits if kind is Kind.DATA]
        found["send"] = mb_per_second(PAGE - 4, data[-1] - data[0])
        beats = [slot for slot, _, _ in world.memory.log]
        found["host"] = beats[-1] - beats[0] + 1
        found["waited"] = await firmware.load("SLOTS_HDMA_WAITED") + await firmware.load("SLOTS_SEND_WAITED")
        found["processor"] = await firmware.load("SLOTS_CPU_USED")

    Chip(CONFIG).run(script)
    assert found["send"] * 1e6 == CONFIG.edge_bytes_per_second
    assert found["waited"] == 0
    assert found["processor"] == 0, "the processor is idle"
    expected("nic.both.send_mb_per_second", found["send"])
    expected("nic.both.host_dma_slots_4096", found["host"])


def test_a_block_written_by_pio_takes_as_long_in_whichever_slot_it_begins():
    """One word a bus clock, and the setup of each line, although the SRAM serves the host in even
    slots only."""
    words = [random.Random(2).getrandbits(32) for _ in range(64)]
    took = []

    async def script(context, world):
        for wait in (0, 1):
            while not context.get(chip.nic.idle) or context.get(chip.nic.now) % 2 != wait:
                await context.tick()
            begin = context.get(chip.nic.now)
            await world.host.write_words(0x400 * (wait + 1), words)
            took.append(context.get(chip.nic.now) - begin)
            await context.tick().repeat(8)
            assert chip.peek(context, 0x400 * (wait + 1), 256) == b"".join(word.to_bytes(4, "big") for word in words)

    chip = Chip(CONFIG)
    chip.run(script)
    clock = CONFIG.slot_khz // CONFIG.host_bus_khz
    lines = 4 * len(words) // CONFIG.pio_line
    assert max(took) <= clock * (len(words) + lines * (CONFIG.pio_write_setup + 1)) + 4
    assert max(took) - min(took) <= 1
