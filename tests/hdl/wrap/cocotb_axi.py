"""cocotb: a NIC behind AXI, with cocotbext-axi's own models as the host: registers, SRAM, host DMA both ways, a
reset in the midst of it. LANAI_BUS says which AXI."""

import itertools
import os
import random

import cocotb
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBurstType, AxiBus, AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiMaster, AxiRam

from lanai_hdl.bfm import Program
from lanai_hdl.bfm.cocotb import begin
from lanai_hdl.machine import MACHINE_ID, Control, Event, HostDmaStart, host_offset

FULL = os.environ["LANAI_BUS"] == "axi4"
SIZE = 300


class Host:
    """The host's side: a manager for the window, memory for the NIC."""

    def __init__(self, dut):
        dut._log.parent.getChild("top").setLevel("WARNING")
        if FULL:
            self.master = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
            self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=1 << 16)
        else:
            self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
            self.ram = AxiLiteRam(AxiLiteBus.from_prefix(dut, "m_axil"), dut.clk, dut.rst, size=1 << 16)

    def channels(self):
        reads, writes = self.master.read_if, self.master.write_if
        yield from (writes.aw_channel, writes.w_channel, writes.b_channel, reads.ar_channel, reads.r_channel)
        reads, writes = self.ram.read_if, self.ram.write_if
        yield from (writes.aw_channel, writes.w_channel, writes.b_channel, reads.ar_channel, reads.r_channel)

    def pauses(self, most, seed):
        """Every channel pauses by chance."""
        for n, channel in enumerate(self.channels()):
            chance = random.Random(seed + n)
            channel.set_pause_generator(chance.random() < most for _ in itertools.count())

    async def register(self, name):
        return int.from_bytes((await self.master.read(host_offset(name), 4)).data, "big")

    async def set(self, name, value):
        await self.master.write(host_offset(name), int(value).to_bytes(4, "big"))

    async def load(self, program):
        await self.master.write(0, b"".join(word.to_bytes(4, "big") for word in program.words))

    async def until(self, name, value, polls=300):
        for _ in range(polls):
            if await self.register(name) == value:
                return
        raise TimeoutError(f"{name} never became {value:#x}")


def copies(source, target):
    """A program that moves bytes of host memory to the SRAM and back, and says so."""
    return (
        Program()
        .store(HDMA_HOST=source, HDMA_LOCAL=0x1002, HDMA_LENGTH=SIZE)
        .store(HDMA_START=HostDmaStart.TO_SRAM)
        .wait(Event.HOST_DMA_DONE)
        .store(ISR=Event.HOST_DMA_DONE)
        .store(HDMA_HOST=target, HDMA_LOCAL=0x1002, HDMA_LENGTH=SIZE)
        .store(HDMA_START=HostDmaStart.TO_HOST)
        .wait(Event.HOST_DMA_DONE)
        .store(SCRATCH0=0x600D)
        .wait(Event.DOORBELL)
    )


async def start(dut):
    host = Host(dut)
    await begin(dut)
    await ClockCycles(dut.clk, 4)
    return host


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(pauses=[0.0, 0.4])
async def bytes_go_both_ways(dut, pauses):
    host = await start(dut)
    host.pauses(pauses, seed=1)
    assert await host.register("ID") == MACHINE_ID
    host.ram.write(0x3000, b"\xaa" * 2048)
    data = bytes(random.Random(5).randbytes(SIZE))
    host.ram.write(0x5003, data)
    await host.load(copies(0x5003, 0x3201))
    await host.set("CONTROL", Control.RUN)
    await host.until("SCRATCH0", 0x600D)
    assert (await host.master.read(0x1002, SIZE)).data == data
    assert host.ram.read(0x3200, SIZE + 2) == b"\xaa" + data + b"\xaa"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bytes_within_words(dut):
    host = await start(dut)
    await host.master.write(0x2000, b"ABCDEFGH")
    await host.master.write(0x2003, b"xy")
    assert (await host.master.read(0x2000, 8)).data == b"ABCxyFGH"
    before = await host.register("PIO_FAULTS")
    await host.master.write(host_offset("SCRATCH0"), b"z")  # registers are whole words
    assert await host.register("PIO_FAULTS") == before + 1


@cocotb.test(timeout_time=2, timeout_unit="ms", skip=not FULL)
async def bursts_of_every_kind(dut):
    host = await start(dut)
    data = bytes(range(256)) * 3
    await host.master.write(0x2000, data)
    assert (await host.master.read(0x2000, len(data))).data == data
    # From the middle of an aligned block of 16 bytes round to its start.
    wrapped = await host.master.read(0x2008, 16, burst=AxiBurstType.WRAP)
    assert wrapped.data == data[8:16] + data[0:8]
    await host.master.write(0x2100, b"aaaabbbb", burst=AxiBurstType.FIXED)
    assert (await host.master.read(0x2100, 8)).data == b"bbbb" + data[0x104:0x108]
    narrow = await host.master.read(0x2010, 8, size=1)
    assert narrow.data == data[16:24]


@cocotb.test(timeout_time=3, timeout_unit="ms")
@cocotb.parametrize(writes=[False, True], slots=[1, 5, 14, 23, 40])
async def a_reset_leaves_nothing_open(dut, writes, slots):
    """The NIC is reset while a transfer is under way. The next one finds a bus at rest, and no byte of before."""
    host = await start(dut)
    host.pauses(0.3, seed=slots)
    host.ram.write(0x5000, b"\x11" * 512)
    # A write that the host has taken lands, if late: elsewhere.
    one_way = Program().store(HDMA_HOST=0x7000 if writes else 0x5000, HDMA_LOCAL=0x1800, HDMA_LENGTH=SIZE)
    one_way = one_way.store(HDMA_START=HostDmaStart.TO_HOST if writes else HostDmaStart.TO_SRAM)
    await host.load(one_way.store(SCRATCH0=1).wait(Event.DOORBELL))
    await host.set("CONTROL", Control.RUN)
    await host.until("SCRATCH0", 1)
    await ClockCycles(dut.clk, slots)
    await host.set("CONTROL", Control.RESET)
    host.ram.write(0x5000, b"\x22" * 512)
    await host.load(copies(0x5000, 0x3000))
    await host.set("CONTROL", Control.RUN)
    await host.until("SCRATCH0", 0x600D)
    assert (await host.register("BUS_BURSTS")) > 0
    assert host.ram.read(0x3000, SIZE) == b"\x22" * SIZE
