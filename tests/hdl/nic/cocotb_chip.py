"""cocotb: one NIC runs a small firmware; its host loads the program, rings, and finds its bytes
sent."""

import random

import cocotb

from lanai_hdl.bfm import HostMemory, LinkSink, LinkSource, PioHost, Program
from lanai_hdl.bfm.cocotb import CocotbPins, begin, number_slots
from lanai_hdl.machine import Control, Event, HostDmaStart, SendStart

SIZE = 333
ROUND = (SIZE + 3) // 4


async def surroundings(dut, program):
    await begin(dut)
    cocotb.start_soon(number_slots(dut))
    memory, sink = HostMemory(CocotbPins(dut, "mem")), LinkSink(CocotbPins(dut, "link_tx"))
    cocotb.start_soon(memory.serve())
    cocotb.start_soon(sink.serve())
    host = PioHost(CocotbPins(dut, "pio"))
    await host.write_words(0, program.words)
    assert await host.read_words(0, len(program.words)) == program.words
    await host.write_register("CONTROL", Control.RUN)
    return host, memory, sink


async def signalled(host, polls=300):
    for _ in range(polls):
        if await host.read_register("HOST_SIGNAL"):
            return
    raise TimeoutError("the firmware never signalled")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_host_sends_by_doorbell(dut):
    program = (
        Program()
        .wait(Event.DOORBELL)
        .store(DOORBELL=1, SEND_ROUTE=0, SEND_POINTER=0x1000, SEND_LENGTH=SIZE)
        .store(
            HDMA_HOST=0x5003, HDMA_LOCAL=0x1000, HDMA_LENGTH=SIZE, HDMA_START=HostDmaStart.TO_SRAM | HostDmaStart.FEED
        )
        .store(SEND_START=SendStart.FIRST | SendStart.LAST | SendStart.CHASE)
        .wait(Event.SEND_DONE)
        .store(ISR=Event.SEND_DONE, HOST_SIGNAL=1)
        .again()
    )
    host, memory, sink = await surroundings(dut, program)
    data = random.Random(1).randbytes(SIZE)
    memory.load(0x5003, data)
    for count in (1, 2):
        await host.write_register("DOORBELL", 1)
        await signalled(host)
        await host.write_register("HOST_SIGNAL", 1)
        while len(sink.packets) < count:
            await host.read_register("ID")
        packet = sink.packets[-1]
        assert packet.sound
        assert b"".join(word.to_bytes(4, "big") for word in packet.words)[:SIZE] == data
    assert await host.read_register("TX_PACKETS") == 2


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_packet_goes_to_the_host(dut):
    program = (
        Program()
        .store(RECV_POINTER=0x2000, RECV_LIMIT=0x2400)
        .wait(Event.RECV_DONE)
        .store(HDMA_HOST=0x9001, HDMA_LOCAL=0x2000)
        .copy("RECV_LENGTH", "HDMA_LENGTH")
        .store(HDMA_START=HostDmaStart.TO_HOST, RECV_VERDICT=0)
        .wait(Event.HOST_DMA_DONE)
        .store(ISR=Event.HOST_DMA_DONE, HOST_SIGNAL=1)
        .again()
    )
    host, memory, _ = await surroundings(dut, program)
    words = [n * 0x01010101 for n in range(ROUND)]
    await LinkSource(CocotbPins(dut, "link_rx")).send(words)
    await signalled(host)
    assert memory.dump(0x9001, 4 * ROUND) == b"".join(word.to_bytes(4, "big") for word in words)
    pins = CocotbPins(dut, "pio")
    for _ in range(100):
        await pins.step()
    assert dut.idle.value, "with its work done the NIC comes to rest"


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(latency=[1, 100])
async def a_transfer_cut_off_by_a_reset_leaves_the_next_one_alone(dut, latency):
    """However late host memory answers."""
    program = Program().copy("SCRATCH2", "HDMA_HOST").copy("SCRATCH4", "HDMA_LOCAL").store(HDMA_LENGTH=SIZE)
    program.copy("SCRATCH3", "HDMA_START").wait(Event.HOST_DMA_DONE).store(HOST_SIGNAL=1).wait(Event.DOORBELL)
    host, memory, _ = await surroundings(dut, program)
    memory.latency, chance, pins = latency, random.Random(latency), CocotbPins(dut, "pio")

    async def start(address, direction):
        await host.write_register("CONTROL", Control.RESET)
        for name, value in (("SCRATCH2", address), ("SCRATCH3", direction), ("SCRATCH4", 0x1000)):
            await host.write_register(name, value)
        await host.write_register("CONTROL", Control.RUN)

    async def moved(data):
        """Down to the NIC and up again, elsewhere."""
        memory.load(0x9001, data)
        await start(0x9001, HostDmaStart.TO_SRAM)
        await signalled(host)
        await start(0xA002, HostDmaStart.TO_HOST)
        await signalled(host)
        return memory.dump(0xA002, SIZE)

    for n in range(30):
        await start(0x5003, (HostDmaStart.TO_SRAM, HostDmaStart.TO_HOST)[n % 2])
        for _ in range(chance.randrange(300)):
            await pins.step()
        data = chance.randbytes(SIZE)
        assert await moved(data) == data
