"""cocotb: two NICs and a switch; a page and a bit goes from one host's memory to the other's."""

import random

import cocotb

from lanai_hdl.bfm import HostMemory, PioHost, Program
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.machine import Control, Event, HostDmaStart, SendStart

SIZE = 5000
HEADER = 16


def sender():
    """Sends the bytes at 0x10001 of its host as one packet while they still arrive."""
    return (
        Program()
        .wait(Event.DOORBELL)
        .store(DOORBELL=1)
        .copy("SCRATCH0", "SEND_ROUTE")
        .store(
            HDMA_HOST=0x10001, HDMA_LOCAL=0x1000, HDMA_LENGTH=SIZE, HDMA_START=HostDmaStart.TO_SRAM | HostDmaStart.FEED
        )
        .store(SEND_POINTER=0x800, SEND_LENGTH=HEADER, SEND_START=SendStart.FIRST | SendStart.CHECK)
        .store(SEND_POINTER=0x1000, SEND_LENGTH=SIZE, SEND_START=SendStart.LAST | SendStart.CHASE)
        .again()
    )


def receiver():
    """Hands a packet to its host from its first words on, behind the receive DMA."""
    return (
        Program()
        .store(RECV_WATERMARK=HEADER, RECV_POINTER=0x1000, RECV_LIMIT=0x3800)
        .wait(Event.RECV_PROGRESS)
        .store(HDMA_HOST=0x20003, HDMA_LOCAL=0x1000 + HEADER, HDMA_LENGTH=SIZE)
        .store(HDMA_START=HostDmaStart.TO_HOST | HostDmaStart.FOLLOW)
        .wait(Event.HOST_DMA_DONE)
        .copy("RECV_VERDICT", "SCRATCH1")
        .store(RECV_VERDICT=0, ISR=Event.HOST_DMA_DONE, HOST_SIGNAL=1)
        .again()
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bytes_cross_from_host_to_host(dut):
    await begin(dut)
    data = random.Random(4).randbytes(SIZE)
    hosts, memories = [], []
    for n, program in enumerate((sender(), receiver())):
        memory = HostMemory(CocotbPins(dut, f"mem__{n}"))
        cocotb.start_soon(memory.serve())
        memories.append(memory)
        host = PioHost(CocotbPins(dut, f"pio__{n}"))
        await host.write_words(0, program.words)
        await host.write_register("SCRATCH0", 0x81000000)
        await host.write_register("CONTROL", Control.RUN)
        hosts.append(host)
    memories[0].load(0x10001, data)
    for count in (1, 2):
        await hosts[0].write_register("DOORBELL", 1)
        for _ in range(1000):
            if await hosts[1].read_register("HOST_SIGNAL"):
                break
        else:
            raise TimeoutError("the receiver never signalled")
        await hosts[1].write_register("HOST_SIGNAL", 1)
        assert memories[1].dump(0x20003, SIZE) == data, f"packet {count}"
        memories[1].load(0x20003, bytes(SIZE))
    assert await hosts[1].read_register("RX_PACKETS") == 2
    assert await hosts[1].read_register("RX_CRC_ERRORS") == 0
