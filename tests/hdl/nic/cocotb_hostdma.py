"""cocotb: the host DMA on its bus, between host memory and SRAM, at any pace of both, while the
host looks in by PIO."""

import random

import cocotb

from lanai_hdl.bfm import HostMemory, PioHost, SramModel
from lanai_hdl.bfm.cocotb import CocotbPins, begin, stream_put
from lanai_hdl.host_dma.engine import HostDescriptor

SIZE = 4096
DEFAULTS = {"feed": 0, "follow": 0, "stop": 0, "refused": 0}


def descriptors(count):
    chance = random.Random(4)
    for n in range(count):
        host, local = 0x10000 + 256 * n + chance.randrange(60), 256 * n + chance.randrange(60)
        yield {
            "host": host,
            "local": local,
            "length": chance.choice((0, 1, 3, 5, 64, 100)),
            "to_host": n % 2,
            **DEFAULTS,
        }


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(refuse=[0.0, 0.5], pause=[0.0, 0.4])
async def bytes_of_every_alignment(dut, refuse, pause):
    await begin(dut)
    memory = HostMemory(CocotbPins(dut, "mem"), pause=pause, latency=3, seed=1)
    sram = SramModel(CocotbPins(dut, "lbus"), SIZE, refuse=refuse, seed=2)
    memory.load(0x10000, random.Random(8).randbytes(SIZE))
    sram.data[:] = random.Random(9).randbytes(SIZE)
    host, local = bytearray(memory.dump(0x10000, SIZE)), bytearray(sram.data)
    cocotb.start_soon(memory.serve())
    cocotb.start_soon(sram.serve())
    todo = list(descriptors(15))
    for d in todo:
        a, b, n = d["host"] - 0x10000, d["local"], d["length"]
        if d["to_host"]:
            host[a : a + n] = local[b : b + n]
        else:
            local[b : b + n] = host[a : a + n]
    posting = cocotb.start_soon(stream_put(dut, "post", HostDescriptor, todo, idle=0.2, seed=5))
    pio, done = PioHost(CocotbPins(dut, "pio")), 0
    await posting
    while not int(dut.idle.value):
        assert await pio.read(0x1FFFFC) == 0xFFFFFFFF  # outside the map, but it takes the bus
        done += 1
        for _ in range(20):  # in which the bus is the host DMA's
            await pio.pins.step()
    assert done, "PIO got in between"
    assert sram.data == local
    assert memory.dump(0x10000, SIZE) == host
