"""Whatever state a NIC is in, CONTROL.RESET brings it back, and its SRAM with it."""

import random

import pytest
from amaranth import Value

from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import REGISTERS, Access, Control, HostDmaStart, SendStart, Verdict

from .bench import HOST, SRAM, WHOLE, Told, survive, survive_on_a_loop

WORDS = list(range(40))


async def reset(nic):
    """By the host; all but the SRAM is as new, and nothing goes on."""
    await nic.host.write_register("CONTROL", Control.RESET)
    assert await nic.host.read_register("CONTROL") == 0
    before, pages = nic.side.peek(nic.context, 0, SRAM), {n: bytes(page) for n, page in nic.memory.pages.items()}
    for name in ("ISR", "HDMA_DONE", "SEND_DONE", "RECV_DONE", "RECV_COUNT", "SEND_CREDIT", "DOORBELL", "SCRATCH3"):
        assert await nic.host.read_register(name) == 0, name
    assert await nic.firmware.load("HDMA_STATUS") == nic.side.config.hdma_queue
    assert nic.side.peek(nic.context, 0, SRAM) == before
    nic.counts.clear()
    assert nic.memory.pages == pages
    nic.sram[:] = before  # what was under way may have been written in part
    nic.pages = {number: bytearray(page) for number, page in pages.items()}
    return Told()


async def everything_at_once(nic):
    """Each engine in its midst, and the packets half in."""
    await nic.firmware.store("SCRATCH3", 3)
    await nic.firmware.host_dma(HOST, 0, 2048, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
    await nic.firmware.send(0, 0, 2048, SendStart.LAST | SendStart.FIRST | SendStart.CHASE)
    await nic.firmware.post(0x1000, 0x1800)
    await nic.source.flits(nic.source.packet(WORDS)[:20])
    await nic.slots(60)
    return await reset(nic)


async def a_host_dma_that_writes(nic):
    await nic.firmware.host_dma(HOST + 0x800, 3, 1500, HostDmaStart.TO_HOST)
    await nic.slots(77)
    return await reset(nic)


async def engines_that_wait_for_ever(nic):
    """A send for credit, the host DMA behind a packet that never ends, a packet for a buffer, the
    wire for a STOP."""
    nic.sink.held = True
    await nic.firmware.post(0x1000, 0x1800)
    await nic.source.flits(nic.source.packet(WORDS)[:20])
    await nic.slots(60)
    await nic.firmware.host_dma(HOST, 0x1000, 0x400, HostDmaStart.TO_HOST | HostDmaStart.FOLLOW)
    await nic.firmware.send(0, 0, 800, WHOLE)
    await nic.firmware.send(0, 0, 800, WHOLE | SendStart.CHASE)
    await nic.source.flits(nic.source.packet(WORDS))  # ends the one before, and finds no buffer
    await nic.slots(200)
    told = await reset(nic)
    nic.sink.held = False
    return told


def noise(seed):
    """Flits of any kind with any data, a carrier that comes and goes, and buffers for what seems to
    be a packet."""

    async def fault(nic):
        chance = random.Random(seed)
        kind = Value.cast(nic.side.nic.link_rx.kind)
        for n in range(300):
            if n % 50 == 0:
                await nic.firmware.post(0x1000, 0x1040)
            if await nic.firmware.load("RECV_VERDICT"):
                await nic.firmware.store("RECV_VERDICT", 0)
            nic.context.set(kind, chance.choice((0, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7)))
            nic.source.pins.set(data=chance.choice((0, chance.getrandbits(32))))
        nic.source.pins.set(kind=Kind.IDLE)
        await nic.slots(100)
        sram = nic.side.peek(nic.context, 0, SRAM)
        assert sram[:0x1000] == nic.sram[:0x1000], "written below the buffer"
        assert sram[0x1040:] == nic.sram[0x1040:], "written past the buffer"
        return await reset(nic)

    fault.__name__ = f"noise {seed}"
    return fault


def mad_firmware(seed):
    """Any value in any register that the processor may write, many times over."""

    async def fault(nic):
        chance = random.Random(seed)
        names = [r.name for r in REGISTERS if r.access & Access.PW]
        for _ in range(400):
            value = chance.choice((0, 1, 2, 3, 5, 7, 15, 64, 0x100, 0x1000, SRAM, 0xFFFFFFFF, chance.getrandbits(32)))
            await nic.firmware.store(chance.choice(names), value)
        return await reset(nic)

    fault.__name__ = f"mad firmware {seed}"
    return fault


def test_reset_in_the_midst_of_everything():
    survive(everything_at_once, a_host_dma_that_writes)


def test_reset_frees_engines_that_wait_for_ever():
    survive(engines_that_wait_for_ever)


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 20), marks=pytest.mark.slow)])
def test_reset_after_nonsense_on_the_wire(seeds):
    survive(*(noise(seed) for seed in seeds))


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 20), marks=pytest.mark.slow)])
def test_reset_after_nonsense_in_the_registers(seeds):
    survive_on_a_loop(*(mad_firmware(seed) for seed in seeds))


def test_a_packet_without_a_buffer_waits_on_the_wire_and_is_whole():
    """STOP comes before the packet is through, nothing is lost, and a buffer that comes late takes
    all of it."""
    words = list(range(90))

    async def waits(nic):
        flits, sent = nic.source.packet(words), 0
        for kind, data in flits:
            if nic.source.pins.now("stop")[0]:
                break
            nic.source.pins.set(kind=kind, data=data)
            await nic.source.pins.step()
            sent += 1
        assert 20 < sent < len(flits), "STOP must come before the packet is through"
        nic.source.pins.set(kind=Kind.IDLE)
        await nic.slots(4)
        assert await nic.firmware.load("RX_STOPS") == 1
        await nic.firmware.post(0x400, 0x800)
        await nic.source.flits(flits[sent:])
        assert await nic.take() == (Verdict.VALID, 4 * len(words))
        return Told(sram={0x400: b"".join(word.to_bytes(4, "big") for word in words)})

    survive(waits)
