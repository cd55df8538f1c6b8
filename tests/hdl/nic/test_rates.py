"""How fast the engines are: exact figures of the 1999 testbed, each with its bound in `NicConfig`."""

import random
from itertools import pairwise

from lanai_hdl.bfm import Chip
from lanai_hdl.config import lanai41
from lanai_hdl.machine import HostDmaStart

PAGE = 4096
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
    """Four pages, queued at once: slots from the first beat to the last, and the least slots between beats of a "
    "burst."""
    found = {}

    async def story(context, world):
        data = blob(4 * PAGE)
        world.memory.load(0x10000, data)
        chip.poke(context, 0, data)
        await queue_pages(world, 4, flags)
        slots = [slot for slot, _, _ in world.memory.log]
        assert len(slots) == 4 * PAGE // 4
        found["slots"] = slots[-1] - slots[0] + 1
        found["gaps"] = {b - a for a, b in pairwise(slots)}
        found["sound"] = chip.peek(context, 0, len(data)) == data == world.memory.dump(0x10000, len(data))

    chip = Chip(CONFIG)
    chip.does(story)
    assert found["sound"]
    return found


def test_host_dma_reads_above_125_mb_per_second(expected):
    found = measure_host_dma(HostDmaStart.TO_SRAM)
    rate = mb_per_second(4 * PAGE, found["slots"])
    assert rate >= 125
    expected("nic.host_dma.read_mb_per_second", rate)
    # 4 bytes a host bus clock: at 33 MHz that is one beat every two slots, and only bursts' ends are longer.
    assert min(found["gaps"]) == 2 * CONFIG.slot_khz // (2 * CONFIG.host_bus_khz)
    expected("nic.host_dma.burst_bytes_per_clock", 4)


def test_host_dma_writes_above_125_mb_per_second(expected):
    found = measure_host_dma(HostDmaStart.TO_HOST)
    rate = mb_per_second(4 * PAGE, found["slots"])
    assert rate >= 125
    expected("nic.host_dma.write_mb_per_second", rate)
