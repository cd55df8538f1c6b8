"""cocotb: five requesters at once on the LBUS and its SRAM, each in its own bytes; the edges' order
is kept."""

import random

import cocotb

from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.lbus.masters import MASTERS

NAMES = [master.name for master in MASTERS]


async def requester(dut, index, name, eagerness):
    chance, pins, model = random.Random(index), CocotbPins(dut, name), {}
    for _ in range(100):
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
            assert (await pins.step("rdata"))[0] == model[addr], name


async def one_grant_a_slot(dut):
    pins = {name: CocotbPins(dut, name) for name in NAMES}
    while True:
        await pins["cpu"].step()
        granted = [name for name in NAMES if pins[name].now("grant")[0]]
        assert len(granted) <= 1, granted


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(eagerness=[0.2, 0.9])
async def every_requester_gets_its_own_data(dut, eagerness):
    await begin(dut)
    cocotb.start_soon(one_grant_a_slot(dut))
    running = [cocotb.start_soon(requester(dut, n, name, eagerness)) for n, name in enumerate(NAMES)]
    for task in running:
        await task
