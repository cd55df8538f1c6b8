"""The whole NIC, without firmware."""

import random

import pytest

from lanai_hdl.bfm import Bench, Chip, Pair
from lanai_hdl.bfm.chip import SMALL, Side
from lanai_hdl.config import BlockedAction
from lanai_hdl.machine import (
    MACHINE_ID,
    MACHINE_VERSION,
    Control,
    Event,
    Features,
    HostDmaStart,
    SendStart,
    Status,
    Verdict,
)
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig
from lanai_hdl.systems import SwitchedNics


def blob(size, seed=1):
    return random.Random(seed).randbytes(size)


def test_host_reads_and_writes_sram_and_registers():
    async def script(context, world):
        host = world.host
        assert await host.read_register("ID") == MACHINE_ID
        await host.write(0x100, 0x11223344)
        await host.write(0x100, 0xAABBCCDD, be=0b0101)
        assert await host.read(0x100) == 0x11BB33DD
        assert chip.peek(context, 0x100, 4) == bytes.fromhex("11bb33dd")
        await host.write_register("SCRATCH3", 77)
        assert await host.read_register("SCRATCH3") == 77

    chip = Chip()
    chip.run(script)


def test_host_dma_moves_bytes_both_ways():
    async def script(context, world):
        data = blob(1500)
        world.memory.load(0x5003, data)
        await world.firmware.host_dma(0x5003, 0x401, 1500, HostDmaStart.TO_SRAM)
        await world.firmware.until("HDMA_DONE", 1)
        assert chip.peek(context, 0x401, 1500) == data
        await world.firmware.host_dma(0x9002, 0x403, 1400, HostDmaStart.TO_HOST)
        await world.firmware.until("HDMA_DONE", 2)
        assert world.memory.dump(0x9001, 1402) == b"\0" + data[2:1402] + b"\0"

    chip = Chip()
    chip.run(script)


def test_send_and_receive_a_packet():
    async def script(context, world):
        data = blob(400)
        chip.poke(context, 0x800, data)
        await world.firmware.send(0x81000000, 0x800, 400, SendStart.FIRST | SendStart.LAST)
        while not world.sink.packets:
            await context.tick()
        (packet,) = world.sink.packets
        assert packet.sound
        assert packet.route == 0x81000000
        assert b"".join(word.to_bytes(4, "big") for word in packet.words) == data

        await world.firmware.post(0x2000, 0x2200)
        await world.source.send(packet.words)
        while not await world.firmware.load("RECV_VERDICT"):
            pass
        assert await world.firmware.load("RECV_VERDICT") == Verdict.VALID
        assert await world.firmware.load("RECV_LENGTH") == 400
        assert await world.firmware.load("RECV_BUFFER") == 0x2000
        assert chip.peek(context, 0x2000, 400) == data

    chip = Chip()
    chip.run(script)


def test_a_message_in_pieces_of_pages_leaves_as_one_packet():
    """A descriptor a page, at odd addresses and of odd lengths; one send chases them all (NP-51),
    before the last has come."""
    pieces = [(0x5FF9, 7), (0x9000, 1), (0x7000, 130), (0x3801, 66)]

    async def script(context, world):
        firmware, whole, local = world.firmware, b"", 0x401
        for n, (address, length) in enumerate(pieces):
            data = blob(length, n)
            world.memory.load(address, data)
            whole += data
        await firmware.send(0x80000000, 0x400, 1 + len(whole), SendStart.FIRST | SendStart.LAST | SendStart.CHASE)
        await firmware.store("SEND_CREDIT", 1)  # the byte before the first piece
        for address, length in pieces:
            await firmware.host_dma(address, local, length, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
            local += length
        while not world.sink.packets:
            await context.tick()
        (packet,) = world.sink.packets
        assert packet.sound
        assert b"".join(word.to_bytes(4, "big") for word in packet.words)[1 : 1 + len(whole)] == whole
        assert world.sink.flits[0][0] < world.memory.log[-1][0], "it left before its end had come"
        assert await firmware.load("SEND_CREDIT") == 0

    chip = Chip()
    chip.run(script)


def test_progress_is_a_level_that_follows_count_and_watermark():
    async def script(context, world):
        firmware = world.firmware
        await firmware.store("RECV_WATERMARK", 8)
        await firmware.post(0x1000, 0x1100)
        packet = world.source.packet(list(range(10, 20)))
        await world.source.flits(packet[:2])
        await context.tick().repeat(20)
        assert await firmware.load("RECV_COUNT") == 4
        assert await firmware.load("ISR") == 0
        await world.source.flits(packet[2:4])
        assert await firmware.wait(Event.RECV_PROGRESS) == Event.RECV_PROGRESS
        assert await firmware.load("RECV_COUNT") in (8, 12)
        assert await firmware.load("RECV_CURRENT") == 0x1000
        await firmware.store("RECV_WATERMARK", 40)
        await context.tick()  # the next instruction of a processor comes two slots after
        assert await firmware.load("ISR") == 0
        await world.source.flits(packet[4:])
        assert await firmware.wait(Event.RECV_DONE) & Event.RECV_DONE
        assert await firmware.load("RECV_COUNT") == 0
        assert await firmware.load("RECV_LENGTH") == 40
        await firmware.store("RECV_VERDICT", 0)
        await context.tick()
        assert await firmware.load("ISR") == 0

    Chip().run(script)


def test_signals_and_interrupts_reach_the_host():
    async def script(context, world):
        await world.host.write_register("HOST_IRQ_MASK", Event.HOST_SIGNAL)
        await world.host.read_register("ID")  # behind the write
        await world.firmware.store("HOST_SIGNAL", 0b11)
        await context.tick().repeat(4)
        assert context.get(chip.nic.irq)
        assert await world.host.read_register("HOST_SIGNAL") == 0b11
        await world.host.write_register("HOST_SIGNAL", 0b01)
        assert await world.host.read_register("HOST_SIGNAL") == 0b10
        assert context.get(chip.nic.irq)
        await world.host.write_register("HOST_SIGNAL", 0b10)
        assert await world.host.read_register("ISR") == 0
        assert not context.get(chip.nic.irq)

    chip = Chip()
    chip.run(script)


def test_the_nic_describes_itself():
    async def script(context, world):
        config = chip.config
        values = {
            "ID": MACHINE_ID,
            "VERSION": MACHINE_VERSION,
            "SRAM_SIZE": config.sram_size,
            "SLOT_KHZ": config.slot_khz,
            "LINK_KBYTES": config.link_kbytes,
            "HOST_BUS_KHZ": config.host_bus_khz,
            "QUEUE_DEPTHS": 0x04040404,
            "RX_FIFO": config.rx_fifo,
            "MAX_BURST": config.max_burst,
            "FEATURES": Features.CHASE | Features.FOLLOW | Features.CHECK,
        }
        for name, value in values.items():
            assert await world.host.read_register(name) == value, name

    chip = Chip()
    chip.run(script)


# A packet that no receiver takes (NP-19): what waits behind a STOP for ever can be dropped from
# either end, and is reported.

WHOLE = SendStart.FIRST | SendStart.LAST
LONG, SHORT = 1200, 40  # bytes; LONG is more than a receiver's FIFO and both cables hold
BLOCKED = 200  # slots


async def take(world):
    """The oldest finished packet, popped."""
    await world.firmware.wait(Event.RECV_DONE)
    verdict, length = await world.firmware.load("RECV_VERDICT"), await world.firmware.load("RECV_LENGTH")
    await world.firmware.store("RECV_VERDICT", 0)
    return verdict, length


async def sent(world, count):
    """Nothing is left to send, and `count` descriptors were."""
    await world.firmware.until("SEND_DONE", count)
    while await world.firmware.load("SEND_STATUS") & Status.BUSY:
        pass


def through_a_switch(nic_config, switch_config, *scripts):
    sides = [Side(nic_config) for _ in scripts]
    top = SwitchedNics([side.nic for side in sides], Switch(switch_config), nic_config.link_latency)
    bench = Bench(top, 12_000)
    for n, (side, script) in enumerate(zip(sides, scripts, strict=True)):
        side.attach(bench, top.pio[n], top.mem[n], script, None)
    bench.run()


@pytest.mark.ci
def test_a_blocked_nic_resets_itself_and_the_path_is_free_again():
    """Receiver without a buffer, configured as the hardware of 1999: its reset drains the switch
    and the sender, and it works anew."""
    config = SMALL.but(blocked_slots=BLOCKED, blocked_action=BlockedAction.RESET)

    async def sender(context, world):
        await world.firmware.send(0x81000000, 0, LONG, WHOLE)
        await sent(world, 1)
        await world.firmware.send(0x81000000, 0x100, SHORT, WHOLE)
        await sent(world, 2)

    async def receiver(context, world):
        await world.host.write_register("CONTROL", Control.RUN)
        while await world.host.read_register("CONTROL") & Control.RUN:
            pass
        await context.tick().repeat(64)
        await world.firmware.post(0x400, 0x800)
        assert await take(world) == (Verdict.VALID, SHORT)
        assert await world.firmware.load("RX_STRAYS") > 0, "what was left of the long packet has no head"

    through_a_switch(config, SwitchConfig(ports=2, nic=config), sender, receiver)


@pytest.mark.ci
def test_a_blocked_switch_drops_and_the_next_packet_passes():
    """The switch gives up first, tail and all: the receiver's part of the packet is reported as
    unsound, the sender never waits for ever."""

    async def sender(context, world):
        await world.firmware.send(0x81000000, 0, LONG, WHOLE)
        await sent(world, 1)
        await context.tick().repeat(6 * BLOCKED)
        await world.firmware.send(0x81000000, 0x100, SHORT, WHOLE)
        await sent(world, 2)

    async def receiver(context, world):
        await context.tick().repeat(6 * BLOCKED)
        await world.firmware.post(0x400, 0x800)
        await world.firmware.post(0x800, 0xC00)
        verdict, length = await take(world)
        assert verdict & (Verdict.CRC | Verdict.TRUNCATED)
        assert length < LONG
        assert await take(world) == (Verdict.VALID, SHORT)
        assert await world.firmware.load("RX_CRC_ERRORS") + await world.firmware.load("RX_TRUNCATED") == 1

    through_a_switch(SMALL, SwitchConfig(ports=2, nic=SMALL, blocked_slots=BLOCKED), sender, receiver)


@pytest.mark.ci
def test_a_sender_behind_a_stop_is_freed_by_its_own_reset():
    """CONTROL.RESET drops what is queued; the far side sees the packet end truncated when the next
    begins."""

    async def sender(context, world):
        await world.firmware.send(0, 0, LONG, WHOLE)
        await context.tick().repeat(800)
        assert await world.firmware.load("SEND_STATUS") & Status.BUSY
        stopped = await world.firmware.load("TX_STOPPED")
        assert stopped > 100, "it stands behind a STOP"
        await world.host.write_register("CONTROL", Control.RESET)
        assert await world.host.read_register("CONTROL") == 0
        assert not await world.firmware.load("SEND_STATUS") & Status.BUSY
        await world.firmware.send(0, 0x100, SHORT, WHOLE)
        await sent(world, 1)

    async def receiver(context, world):
        await context.tick().repeat(1500)
        await world.firmware.post(0x400, 0xC00)
        await world.firmware.post(0xC00, 0x1000)
        verdict, length = await take(world)
        assert verdict & Verdict.TRUNCATED
        assert length < LONG
        assert await take(world) == (Verdict.VALID, SHORT)

    Pair(slots=12_000).run(sender, receiver)
