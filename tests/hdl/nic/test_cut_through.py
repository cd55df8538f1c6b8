"""One message from host memory to host memory, all five stages at once (NP-51)."""

import random

import pytest

from lanai_hdl.bfm import Pair
from lanai_hdl.config import lanai41
from lanai_hdl.machine import Event, HostDmaStart, SendStart, Verdict

CONFIG = lanai41().but(sram_size=32768)
SIZE = 4096
HEADER = 32


def slots_alone(count_setup):
    """The slowest stage by itself: a page over the host bus, in bursts."""
    clocks = SIZE // 4 + SIZE // CONFIG.max_burst * count_setup
    return clocks * CONFIG.slot_khz // CONFIG.host_bus_khz


@pytest.mark.ci
def test_a_page_is_cut_through_within_a_tenth_of_its_slowest_stage(expected):
    data = random.Random(1).randbytes(SIZE)
    pair = Pair(CONFIG, slots=8000)

    async def sender(context, world):
        firmware = world.firmware
        world.memory.load(0x10000, data)
        await firmware.host_dma(0x10000, 0x1000, SIZE, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
        await firmware.send(0, 0x0, HEADER, SendStart.FIRST | SendStart.CHECK)
        await firmware.send(0, 0x1000, SIZE, SendStart.LAST | SendStart.CHASE)
        await firmware.until("SEND_DONE", 2)

    async def receiver(context, world):
        firmware = world.firmware
        await firmware.store("RECV_WATERMARK", HEADER)
        await firmware.post(0x2000, 0x2000 + HEADER + SIZE)
        await firmware.wait(Event.RECV_PROGRESS)
        await firmware.host_dma(0x20000, 0x2000 + HEADER, SIZE, HostDmaStart.TO_HOST | HostDmaStart.FOLLOW)
        await firmware.until("HDMA_DONE", 1)
        assert await firmware.load("RECV_VERDICT") == Verdict.VALID | Verdict.CHECKED

    pair.run(sender, receiver)
    memories = [side.world.memory for side in pair.sides]
    assert memories[1].dump(0x20000, SIZE) == data
    slots = memories[1].log[-1][0] - memories[0].log[0][0] + 1
    slowest = slots_alone(CONFIG.read_setup)
    assert slots <= 1.1 * slowest
    expected("nic.cut_through.slots_4096", slots)
    expected("nic.cut_through.slots_slowest_stage_4096", slowest)
