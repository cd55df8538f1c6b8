"""A host that misbehaves: accesses outside the map, parts of registers, what is not the host's to
write, floods."""

from lanai_hdl.machine import (
    BY_NAME,
    REGISTERS_HOST,
    REGISTERS_SIZE,
    Access,
    Event,
    HostDmaStart,
    Status,
    Verdict,
    host_offset,
)

from .bench import HOST, SRAM, WHOLE, Told, survive

OUTSIDE = (SRAM, 0x10000, 0xFFFFC, REGISTERS_HOST + REGISTERS_SIZE, 0x1FFFFC)
HOLES = (host_offset("LBUS_FAULTS") + 4, host_offset("TIMER") + 4, REGISTERS_HOST + REGISTERS_SIZE - 4)
PROCESSORS = (
    *("ID", "SRAM_SIZE", "ISR", "WAIT", "TIMER", "HDMA_HOST", "HDMA_START", "HDMA_DONE", "SEND_START", "SEND_CREDIT"),
    *("RECV_LIMIT", "RECV_VERDICT", "RX_STRAYS"),
)


async def settled(nic):
    """Behind all that the host has written."""
    await nic.host.read_register("ID")


def outside(offset):
    async def fault(nic):
        before = await nic.firmware.load("PIO_FAULTS")
        await nic.host.write(offset, 0xFFFFFFFF)
        await settled(nic)
        assert await nic.firmware.load("PIO_FAULTS") == before + 1
        assert await nic.host.read(offset) == (0xFFFFFFFF if offset in OUTSIDE else 0)
        return Told({"PIO_FAULTS": 2}, Event.BUS_ERROR)

    fault.__name__ = f"outside, {offset:#x}"
    return fault


async def part_of_a_register(nic):
    await nic.host.write_register("SCRATCH0", 5)
    for be in (0b0001, 0b0111, 0b1110, 0b0000):
        await nic.host.write(host_offset("SCRATCH0"), 0xFFFFFFFF, be=be)
        await nic.host.write(host_offset("DOORBELL"), 0xFFFFFFFF, be=be)
    assert await nic.host.read_register("SCRATCH0") == 5
    assert await nic.host.read_register("DOORBELL") == 0
    return Told({"PIO_FAULTS": 8}, Event.BUS_ERROR)


async def part_of_a_hole(nic):
    await nic.host.write(HOLES[0], 0xFFFFFFFF, be=0b0001)
    await settled(nic)
    return Told({"PIO_FAULTS": 1}, Event.BUS_ERROR)


async def no_byte_of_a_word(nic):
    """Byte enables all off: an access like others that changes nothing."""
    await nic.host.write(0x100, 0xFFFFFFFF, be=0)
    await settled(nic)
    return Told()


async def a_burst_across_the_end(nic):
    """Combined writes over the end of the SRAM: what is inside is written, each word beyond it
    counted."""
    await nic.host.write_words(SRAM - 8, range(1, 6))
    await settled(nic)
    return Told({"PIO_FAULTS": 3}, Event.BUS_ERROR, {SRAM - 8: b"\0\0\0\1\0\0\0\2"})


async def what_is_the_processors(nic):
    """Write ones to registers that the host may not write: none changes and no engine moves."""
    assert not any(BY_NAME[name].access & Access.HW for name in PROCESSORS)
    before = [await nic.host.read_register(name) for name in PROCESSORS]
    for name in PROCESSORS:
        await nic.host.write_register(name, 0xFFFFFFFF)
    assert [await nic.host.read_register(name) for name in PROCESSORS] == before
    assert await nic.firmware.load("HDMA_STATUS") & Status.FREE == nic.side.config.hdma_queue
    return Told()


async def reading_what_is_the_processors(nic):
    assert not BY_NAME["HDMA_START"].access & Access.HR
    assert [await nic.host.read_register(name) for name in ("HDMA_START", "SEND_START")] == [0, 0]
    return Told()


def test_pio_outside_the_map():
    survive(*(outside(offset) for offset in OUTSIDE), a_burst_across_the_end)


def test_pio_to_registers_that_are_not_there_or_not_the_hosts():
    survive(
        *(outside(offset) for offset in HOLES),
        part_of_a_register,
        part_of_a_hole,
        no_byte_of_a_word,
        reading_what_is_the_processors,
        what_is_the_processors,
    )


async def doorbells_without_pause(nic):
    """Every bit arrives, every ring is counted, and the host DMA that waits for the bus goes on
    behind the flood."""
    firmware, before = nic.firmware, await nic.firmware.load("DOORBELLS")
    done = await firmware.load("HDMA_DONE") + 1
    await firmware.host_dma(HOST, 0x400, 64, HostDmaStart.TO_SRAM)
    for n in range(200):
        await nic.host.write_register("DOORBELL", 1 << n % 32)
    await settled(nic)
    assert await firmware.load("DOORBELL") == 0xFFFFFFFF
    assert await firmware.load("ISR") & Event.DOORBELL
    assert await firmware.load("DOORBELLS") - before == 200
    await firmware.store("DOORBELL", 0xFFFFFFFF)
    await firmware.until("HDMA_DONE", done)
    return Told(events=Event.HOST_DMA_DONE, sram={0x400: nic.memory.dump(HOST, 64)})


async def doorbells_against_clears(nic):
    """The processor clears as fast as it can what the host rings: no ring is lost, for the bit of
    the last one always shows."""
    host, firmware = nic.host, nic.firmware
    for n in range(32):
        await host.write_register("DOORBELL", 1 << n)
        await firmware.store("DOORBELL", 0xFFFFFFFF)
    await settled(nic)
    await firmware.store("DOORBELL", 0xFFFFFFFF)
    await host.write_register("DOORBELL", 1)
    await settled(nic)
    assert await firmware.load("DOORBELL") == 1
    await firmware.store("DOORBELL", 1)
    return Told()


async def polling_without_pause(nic):
    """A host that reads as fast as the bus lets it does not keep the NIC from it: the transfer ends
    while it still reads."""
    done = await nic.firmware.load("HDMA_DONE") + 1
    await nic.firmware.host_dma(HOST, 0x400, 64, HostDmaStart.TO_SRAM)
    for _ in range(100):
        if await nic.host.read_register("HDMA_DONE") == done:
            return Told(events=Event.HOST_DMA_DONE, sram={0x400: nic.memory.dump(HOST, 64)})
    raise AssertionError("the host DMA never got the bus")


def test_floods_of_doorbells_and_polls():
    survive(doorbells_without_pause, doorbells_against_clears, polling_without_pause)


async def too_many_transfers(nic):
    """Two run or wait more than the queue holds are dropped: the rest is done, in order."""
    firmware, free = nic.firmware, nic.side.config.hdma_queue
    done = await firmware.load("HDMA_DONE")
    nic.memory.pause = 1.0  # the host's memory takes nothing for now
    await firmware.host_dma(HOST, 0x400, 64, HostDmaStart.TO_SRAM)
    await nic.slots(40)  # it runs, and has left the queue
    for n in range(free + 2):
        await firmware.host_dma(HOST + 64 * n, 0x500 + 64 * n, 64, HostDmaStart.TO_SRAM)
    assert await firmware.load("HDMA_STATUS") == Status.BUSY
    nic.memory.pause = 0.0
    await firmware.until("HDMA_DONE", done + 1 + free)
    told = {0x400: nic.memory.dump(HOST, 64), 0x500: nic.memory.dump(HOST, 64 * free)}
    return Told({"QUEUE_OVERFLOWS": 2}, Event.HOST_DMA_DONE | Event.BUS_ERROR, told)


async def too_many_sends(nic):
    firmware, free, came = nic.firmware, nic.side.config.send_queue, len(nic.sink.packets)
    nic.sink.held = True
    await nic.slots(2)
    await firmware.send(0, 0, 200, WHOLE)
    await nic.slots(40)
    for n in range(free + 3):
        await firmware.send(0, 4 * n, 4, WHOLE)
    assert await firmware.load("SEND_STATUS") == Status.BUSY | Status.LINK_UP
    nic.sink.held = False
    while len(nic.sink.packets) < came + 1 + free:
        await nic.context.tick()
    sent = [packet.words for packet in nic.sink.packets[came + 1 :]]
    assert sent == [[int.from_bytes(nic.sram[4 * n : 4 * n + 4], "big")] for n in range(free)]
    return Told({"QUEUE_OVERFLOWS": 3}, Event.SEND_DONE | Event.BUS_ERROR)


async def too_many_buffers(nic):
    firmware, free = nic.firmware, nic.side.config.recv_queue
    for n in range(free + 2):
        await firmware.post(0x400 + 64 * n, 0x440 + 64 * n)
    assert await firmware.load("RECV_STATUS") == Status.LINK_UP
    for n in range(free):
        await nic.source.send([n] * n)
        assert await nic.take() == (Verdict.VALID, 4 * n)
    told = {0x400 + 64 * n: n.to_bytes(4, "big") * n for n in range(free)}
    return Told({"QUEUE_OVERFLOWS": 2}, Event.BUS_ERROR, told)


def test_queues_that_are_full():
    survive(too_many_transfers, too_many_buffers, too_many_sends)
