"""cocotb: a LiteX SoC with a NIC. What stands in for its processor boots the NIC, which moves bytes in its RAM."""

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from lanai_hdl.bfm import Program
from lanai_hdl.bfm.cocotb import begin, value_of
from lanai_hdl.machine import MACHINE_ID, Control, Event, HostDmaStart, host_offset

NIC, RAM = 0x9000_0000, 0x4000_0000
SOURCE, TARGET, SIZE = 0x104, 0x301, 45


async def cycle(dut, address, data=None):
    """One access of the SoC's bus; gives the bytes of a read."""
    dut.host_adr.value, dut.host_sel.value, dut.host_we.value = address >> 2, 0b1111, int(data is not None)
    dut.host_dat_w.value = int.from_bytes(data or b"\0", "little")
    dut.host_cyc.value = dut.host_stb.value = 1
    while True:
        await FallingEdge(dut.clk)
        acknowledged, read = value_of(dut.host_ack), value_of(dut.host_dat_r)
        assert not value_of(dut.host_err)
        await RisingEdge(dut.clk)
        if acknowledged:
            break
    dut.host_cyc.value = dut.host_stb.value = 0
    await RisingEdge(dut.clk)  # the bus goes to another master only when it is left
    return read.to_bytes(4, "little")


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_nic_moves_bytes_in_the_socs_ram(dut):
    await begin(dut)
    for _ in range(4):  # LiteX's own reset
        await RisingEdge(dut.clk)
    assert await cycle(dut, NIC + host_offset("ID")) == MACHINE_ID.to_bytes(4, "big")
    content = bytes(range(1, SIZE + 4))
    for offset in range(0, SIZE, 4):
        await cycle(dut, RAM + SOURCE + offset, content[offset : offset + 4])
    program = (
        Program()
        .copy("SCRATCH2", "HDMA_HOST")  # no store has an address that large
        .store(HDMA_LOCAL=0x802, HDMA_LENGTH=SIZE, HDMA_START=HostDmaStart.TO_SRAM)
        .wait(Event.HOST_DMA_DONE)
        .store(ISR=Event.HOST_DMA_DONE)
        .copy("SCRATCH3", "HDMA_HOST")
        .store(HDMA_LOCAL=0x802, HDMA_LENGTH=SIZE, HDMA_START=HostDmaStart.TO_HOST)
        .wait(Event.HOST_DMA_DONE)
        .store(SCRATCH0=1)
        .wait(Event.DOORBELL)
    )
    for index, word in enumerate(program.words):
        await cycle(dut, NIC + 4 * index, word.to_bytes(4, "big"))
    registers = {"SCRATCH2": RAM + SOURCE, "SCRATCH3": RAM + TARGET, "HOST_IRQ_MASK": int(Event.HOST_DMA_DONE)}
    for name, value in (*registers.items(), ("CONTROL", int(Control.RUN))):
        await cycle(dut, NIC + host_offset(name), value.to_bytes(4, "big"))
    while await cycle(dut, NIC + host_offset("SCRATCH0")) != (1).to_bytes(4, "big"):
        pass
    assert value_of(dut.irq)
    found = b"".join([await cycle(dut, RAM + TARGET - 1 + offset) for offset in range(0, SIZE + 3, 4)])
    assert found[1 : 1 + SIZE] == content[:SIZE]
