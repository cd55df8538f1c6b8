"""The target of the host's accesses beside a block that serves a part of the host's window."""

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.config import NicConfig
from lanai_hdl.host_bus.target import PioTarget
from lanai_hdl.remote.config import Remote

BLOCK = Remote(processes=2, peers=2, pages=4, payload=16)
CONFIG = NicConfig(sram_size=8192, blocks=(BLOCK,))
WAITING = Remote(processes=2, peers=2, pages=4, payload=16, streams=2, stream_bytes=16)  # its reads may wait


def test_who_waits_behind_a_block_gives_the_bus_away_whatever_is_granted_elsewhere():
    """The grant of the registers is the latest signal of the NIC: the bus is not to wait for it."""
    dut = PioTarget(CONFIG)
    bench = Bench(dut, 200)

    async def write_twice(context):
        context.set(dut.granted, 1)
        context.set(dut.tick, 1)
        context.set(dut.pio.valid, 1)
        context.set(dut.pio.write, 1)
        context.set(dut.pio.be, 0b1111)
        context.set(dut.pio.addr, BLOCK.host_window.offset)
        while not context.get(dut.window.request):
            await context.tick()
        await context.tick().repeat(2 * CONFIG.pio_write_setup)
        assert context.get(dut.window.request), "the block has not granted the first"
        assert not context.get(dut.want)
        for others in (dut.registers, dut.lbus):
            context.set(others.grant, 1)
            assert not context.get(dut.want)
            context.set(others.grant, 0)
        context.set(dut.window.grant, 1)
        assert context.get(dut.want)

    bench.add(write_twice)
    bench.run()


@pytest.mark.parametrize("waits", [0, 1, 2, 30])
def test_a_read_that_waits_for_its_block_gives_the_bus_away_and_is_charged_again(waits):
    dut = PioTarget(NicConfig(sram_size=8192, blocks=(WAITING,)))
    bench = Bench(dut, 300)

    async def read(context):
        context.set(dut.granted, 1)
        context.set(dut.tick, 1)
        context.set(dut.pio.valid, 1)
        context.set(dut.pio.addr, WAITING.host_window.offset)
        while not context.get(dut.window.request):
            await context.tick()
        context.set(dut.pio.valid, 0)
        for _ in range(waits):
            assert not context.get(dut.want)
            assert context.get(dut.window.request)
            await context.tick()
        context.set(dut.window.grant, 1)
        context.set(dut.window.rdata, 0xFFFFFFFF)
        await context.tick()
        context.set(dut.window.grant, 0)
        context.set(dut.window.rdata, 0x12345678)
        assert not context.get(dut.window.request)
        took = 0
        while not context.get(dut.pio.rvalid):
            assert context.get(dut.want)
            await context.tick()
            context.set(dut.window.rdata, 0)
            took += 1
        assert context.get(dut.pio.rdata) == 0x12345678
        assert took == (1 if waits == 0 else CONFIG.pio_read_setup + 2)

    bench.add(read)
    bench.run()
