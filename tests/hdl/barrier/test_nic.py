"""The barrier block in a NIC: what the processor and the host see of it."""

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.barrier.csr import BARRIER, LOST
from lanai_hdl.barrier.end import TRIES, timeout
from lanai_hdl.barrier.flit import BarrierKind, pack
from lanai_hdl.bfm import Chip
from lanai_hdl.config import NicConfig
from lanai_hdl.link.flit import Kind

CONFIG = NicConfig(sram_size=4096, blocks=(BarrierTree(),))
EVENT = 1 << BARRIER.events.BARRIER.bit


async def flit(context, nic, kind, data):
    """One flit to the NIC."""
    context.set(nic.link_rx.kind.as_value(), kind)
    context.set(nic.link_rx.data, data)
    await context.tick()
    context.set(nic.link_rx.kind, Kind.IDLE)


def run(script, slots=20_000):
    """`script(context, world, nic)`, with nothing at the other end of the link."""
    chip = Chip(CONFIG, slots=slots)

    async def process(context, world):
        await script(context, world, chip.nic)

    chip.attach(chip.bench, chip.nic.pio, chip.nic.mem, process, None)
    chip.bench.run()


def test_the_processor_is_told_and_sends_its_bits():
    async def script(context, world, nic):
        firmware = world.firmware
        await firmware.store("BARRIER_BITS", 0x8001)
        await flit(context, nic, BarrierKind.STATE, pack(0x8001, 0, 1))
        assert await firmware.wait(EVENT) & EVENT
        assert await firmware.load("BARRIER_SEEN") == 0x8001
        await firmware.store("ISR", EVENT)
        assert await firmware.load("ISR") & EVENT == 0
        assert await world.host.read_register("BARRIER_BITS") == 0x8001
        await flit(context, nic, BarrierKind.STATE, pack(0, 0, 2) ^ 4)
        await context.tick().repeat(6)
        assert await world.host.read_register("BARRIER_SEEN") == 0x8001
        assert await world.host.read_register("BARRIER_DAMAGED") == 1

    run(script)


def test_a_switch_that_does_not_answer_is_lost():
    async def script(context, world, nic):
        assert await world.firmware.wait(EVENT) & EVENT
        assert await world.firmware.load("BARRIER_SEEN") == LOST
        assert await world.firmware.load("BARRIER_RESENT") == TRIES
        await context.tick().repeat(40)
        assert context.get(nic.blocks["barrier"].idle)

    run(script, (TRIES + 3) * timeout(CONFIG))
