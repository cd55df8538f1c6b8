"""The whole NIC, without firmware."""

import random

from lanai_hdl.bfm import Chip
from lanai_hdl.machine import MACHINE_ID, HostDmaStart, SendStart, Verdict


def blob(size, seed=1):
    return random.Random(seed).randbytes(size)


def test_host_reads_and_writes_sram_and_registers():
    async def story(context, world):
        host = world.host
        assert await host.read_register("ID") == MACHINE_ID
        await host.write(0x100, 0x11223344)
        await host.write(0x100, 0xAABBCCDD, be=0b0101)
        assert await host.read(0x100) == 0x11BB33DD
        assert chip.peek(context, 0x100, 4) == bytes.fromhex("11bb33dd")
        await host.write_register("SCRATCH3", 77)
        assert await host.read_register("SCRATCH3") == 77

    chip = Chip()
    chip.does(story)


def test_host_dma_moves_bytes_both_ways():
    async def story(context, world):
        data = blob(1500)
        world.memory.load(0x5003, data)
        await world.firmware.host_dma(0x5003, 0x401, 1500, HostDmaStart.TO_SRAM)
        await world.firmware.until("HDMA_DONE", 1)
        assert chip.peek(context, 0x401, 1500) == data
        await world.firmware.host_dma(0x9002, 0x403, 1400, HostDmaStart.TO_HOST)
        await world.firmware.until("HDMA_DONE", 2)
        assert world.memory.dump(0x9001, 1402) == b"\0" + data[2:1402] + b"\0"

    chip = Chip()
    chip.does(story)


def test_send_and_receive_a_packet():
    async def story(context, world):
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
    chip.does(story)
