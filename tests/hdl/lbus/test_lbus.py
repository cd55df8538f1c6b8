"""LBUS: the published priorities, and every requester gets its own data."""

import itertools
import random

import pytest

from lanai_hdl.bfm import Bench, PysimPins
from lanai_hdl.config import NicConfig
from lanai_hdl.control.control import SlotCounter
from lanai_hdl.lbus.lbus import Lbus, SlotArbiter
from lanai_hdl.lbus.masters import MASTERS
from lanai_hdl.sram.memory import MemorySram

NAMES = [master.name for master in MASTERS]
# NP-56, with PIO in the host DMA's turn.
ORDER = {0: ("pio", "hdma", "cpu"), 1: ("recv", "send", "cpu")}


def test_priorities_are_the_published_ones():
    dut = SlotArbiter()
    bench = Bench(dut, 200)

    async def ask_everything(context):
        for odd, *bits in itertools.product((0, 1), repeat=1 + len(NAMES)):
            asks = dict(zip(NAMES, bits, strict=True))
            context.set(dut.odd, odd)
            context.set(dut.request, asks)
            await context.delay(1e-9)
            winner = next((name for name in ORDER[odd] if asks[name]), None)
            granted = [name for name in NAMES if context.get(dut.grant[name])]
            assert granted == ([winner] if winner else []), (odd, asks)

    bench.add(ask_everything)
    bench.run()


@pytest.mark.parametrize("eagerness", [0.2, 0.9])
def test_every_requester_gets_its_own_data(eagerness):
    """Five requesters at once, each in its own 256 bytes: what each reads is what it wrote."""
    from amaranth import Module
    from amaranth.lib import wiring

    config = NicConfig(sram_size=4096)
    dut, sram = Lbus(config), MemorySram(config)
    top = Module()
    top.submodules.lbus, top.submodules.sram, top.submodules.slots = dut, sram, (slots := SlotCounter())
    wiring.connect(top, dut.sram, sram.port)
    top.d.comb += dut.odd.eq(slots.now[0])
    bench = Bench(top, 20_000)

    def requester(index, name):
        async def run(context):
            chance = random.Random(index)
            pins = PysimPins(context, getattr(dut, name))
            model = {}
            for _ in range(60):
                while chance.random() > eagerness:
                    await pins.step()
                addr = 256 * index + 4 * chance.randrange(8)
                write, value = addr not in model or chance.random() < 0.5, chance.getrandbits(32)
                pins.set(request=1, write=write, addr=addr, wdata=value, be=0b1111)
                while not (await pins.step("grant"))[0]:
                    pass
                pins.set(request=0)
                if write:
                    model[addr] = value
                else:
                    assert (await pins.step("rdata"))[0] == model[addr]

        return run

    for index, name in enumerate(NAMES):
        bench.add(requester(index, name))
    bench.run()


def test_the_processor_cannot_reach_beyond_the_sram():
    config = NicConfig(sram_size=4096)
    dut = Lbus(config)
    bench = Bench(dut, 100)

    async def reach(context):
        context.set(dut.cpu.request, 1)
        context.set(dut.cpu.write, 1)
        for addr, outside in ((0xFFC, 0), (0x1000, 1), (0x80000, 1)):
            context.set(dut.cpu.addr, addr)
            await context.delay(1e-9)
            assert context.get(dut.cpu.grant)
            assert context.get(dut.fault) == outside
            assert context.get(dut.sram.enable) == 1 - outside

    bench.add(reach)
    bench.run()
