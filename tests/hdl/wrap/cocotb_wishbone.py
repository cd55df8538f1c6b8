"""cocotb: a NIC behind Wishbone. The host is written here, from the standard's classic cycles."""

import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from lanai_hdl.bfm import Program
from lanai_hdl.bfm.cocotb import begin, value_of
from lanai_hdl.machine import MACHINE_ID, Control, Event, HostDmaStart, host_offset

SIZE = 45


async def cycle(dut, address, *, data=None, select=0b1111):
    """One classic cycle on the NIC's window; gives the bytes of a read."""
    dut.s_wb_adr.value, dut.s_wb_sel.value, dut.s_wb_we.value = address >> 2, select, int(data is not None)
    dut.s_wb_dat_w.value = int.from_bytes(data or b"\0", "little")
    dut.s_wb_cyc.value = dut.s_wb_stb.value = 1
    while True:
        await FallingEdge(dut.clk)
        acknowledged, read = value_of(dut.s_wb_ack), value_of(dut.s_wb_dat_r)
        await RisingEdge(dut.clk)
        if acknowledged:
            break
    dut.s_wb_cyc.value = dut.s_wb_stb.value = 0
    return read.to_bytes(4, "little")


async def register(dut, name):
    return int.from_bytes(await cycle(dut, host_offset(name)), "big")


async def memory(dut, content, refused, chance):
    """Serve the NIC's master from bytes; addresses from `refused` on are answered with an error. For ever."""
    while True:
        await FallingEdge(dut.clk)
        if value_of(dut.m_wb_cyc) & value_of(dut.m_wb_stb) and chance.random() < 0.5:
            address = value_of(dut.m_wb_adr) << 2
            if address >= refused:
                dut.m_wb_err.value = 1
            else:
                if value_of(dut.m_wb_we):
                    data = value_of(dut.m_wb_dat_w).to_bytes(4, "little")
                    for lane in range(4):
                        if value_of(dut.m_wb_sel) >> lane & 1:
                            content[address + lane] = data[lane]
                        else:
                            assert data[lane] == 0
                dut.m_wb_dat_r.value = int.from_bytes(content[address : address + 4], "little")
                dut.m_wb_ack.value = 1
            await RisingEdge(dut.clk)
            dut.m_wb_ack.value = dut.m_wb_err.value = 0
        else:
            await RisingEdge(dut.clk)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def bytes_go_both_ways_and_errors_are_told(dut):
    await begin(dut)
    content = bytearray(0x1000)
    content[0x103 : 0x103 + SIZE] = range(1, SIZE + 1)
    cocotb.start_soon(memory(dut, content, 0x1000, random.Random(1)))
    assert await register(dut, "ID") == MACHINE_ID
    program = (
        Program()
        .store(HDMA_HOST=0x103, HDMA_LOCAL=0x802, HDMA_LENGTH=SIZE)
        .store(HDMA_START=HostDmaStart.TO_SRAM)
        .wait(Event.HOST_DMA_DONE)
        .store(ISR=Event.HOST_DMA_DONE)
        .store(HDMA_HOST=0x301, HDMA_LOCAL=0x802, HDMA_LENGTH=SIZE)
        .store(HDMA_START=HostDmaStart.TO_HOST)
        .wait(Event.HOST_DMA_DONE)
        .store(ISR=Event.HOST_DMA_DONE)
        .store(HDMA_HOST=0x1000, HDMA_LOCAL=0x802, HDMA_LENGTH=4)
        .store(HDMA_START=HostDmaStart.TO_HOST)
        .wait(Event.HOST_DMA_ERROR)
        .store(SCRATCH0=0x600D)
        .wait(Event.DOORBELL)
    )
    for index, word in enumerate(program.words):
        await cycle(dut, 4 * index, data=word.to_bytes(4, "big"))
    await cycle(dut, host_offset("CONTROL"), data=int(Control.RUN).to_bytes(4, "big"))
    while await register(dut, "SCRATCH0") != 0x600D:
        pass
    assert content[0x300 : 0x302 + SIZE] == b"\0" + bytes(range(1, SIZE + 1)) + b"\0"
    await cycle(dut, 0x900, data=b"ABCD")
    await cycle(dut, 0x900, data=b"wxyz", select=0b0110)
    assert await cycle(dut, 0x900) == b"AxyD"
