"""Whatever comes: nothing hangs, nothing is written where it should not be, each is counted."""

from collections import Counter

from lanai_hdl.bfm import Chip, LinkSource
from lanai_hdl.link import Kind
from lanai_hdl.link.crc import crc32
from lanai_hdl.machine import COUNTERS, Control, Event, HostDmaStart, SendStart, Status, Verdict

SRAM = 16384
WHOLE = SendStart.FIRST | SendStart.LAST
WORDS = [0x01234567 * n & 0xFFFFFFFF for n in range(1, 9)]


def run(story, **models):
    chip = Chip()

    async def with_chip(context, world):
        world.chip = chip
        await story(context, world)

    chip.does(with_chip, **models)


async def counted(world, **expected):
    """Every counter of a mishap is 0 but those named."""
    mishaps = [
        name
        for name, _ in COUNTERS
        if not name.startswith(("SLOTS", "BUS", "PIO_READS", "PIO_WRITES", "TX", "RX_PACKETS", "RX_FLITS"))
    ]
    got = {name: await world.firmware.load(name) for name in mishaps}
    assert {name: value for name, value in got.items() if value} == expected


async def finished_packet(world):
    """The oldest finished packet, popped: (verdict, length)."""
    firmware = world.firmware
    await firmware.wait(Event.RECV_DONE)
    result = await firmware.load("RECV_VERDICT"), await firmware.load("RECV_LENGTH")
    await firmware.store("RECV_VERDICT", 0)
    return result


REFUSED_TRANSFERS = [
    (SRAM - 8, 9, HostDmaStart.TO_SRAM),
    (SRAM - 8, 9, HostDmaStart.TO_HOST),
    (SRAM, 1, HostDmaStart.TO_SRAM),
    (0xFFFFFFFC, 8, HostDmaStart.TO_SRAM),
    (0, 0xFFFFFFFF, HostDmaStart.TO_HOST),
    (0, 8, 0),
    (0, 8, HostDmaStart.TO_SRAM | HostDmaStart.TO_HOST),
]


def test_host_dma_refuses_what_leaves_the_sram_or_has_no_direction():
    async def story(context, world):
        firmware = world.firmware
        for count, (local, length, flags) in enumerate(REFUSED_TRANSFERS, 1):
            await firmware.host_dma(0x1000, local, length, flags)
            isr = await firmware.wait(Event.HOST_DMA_DONE)
            assert isr == Event.HOST_DMA_DONE | Event.HOST_DMA_ERROR | Event.BUS_ERROR
            await firmware.store("ISR", isr)
            assert await firmware.load("HDMA_DONE") == count
            assert await firmware.load("HDMA_STATUS") == 4 | Status.ERROR
        assert world.memory.log == []
        await counted(world, HDMA_ERRORS=count)
        await firmware.host_dma(0x1000, SRAM - 8, 8, HostDmaStart.TO_SRAM)
        await firmware.until("HDMA_DONE", count + 1)
        assert await firmware.load("HDMA_STATUS") == 4

    run(story)


def test_a_send_that_leaves_the_sram_becomes_a_packet_that_no_one_believes():
    async def story(context, world):
        firmware = world.firmware
        await firmware.send(0, SRAM - 4, 8, WHOLE)
        await firmware.send(0, SRAM - 4, 4, WHOLE)
        await firmware.until("SEND_DONE", 2)
        while len(world.sink.packets) < 2:
            await context.tick()
        bad, good = world.sink.packets
        assert (bad.words, bad.sound) == ([], False)
        assert (len(good.words), good.sound) == (1, True)
        await counted(world, SEND_ERRORS=1)

    run(story)


def test_buffers_outside_the_sram_are_refused():
    async def story(context, world):
        for pointer, limit in ((0, SRAM + 4), (64, 60), (2, 64), (0, 66), (0xFFFFFFF0, 0xFFFFFFF8)):
            await world.firmware.post(pointer, limit)
            assert await world.firmware.load("RECV_STATUS") == 4 | Status.LINK_UP
            assert await world.firmware.load("ISR") == Event.BUS_ERROR
            await world.firmware.store("ISR", Event.BUS_ERROR)
        await counted(world, RECV_REFUSED=5)

    run(story)


def test_full_queues_drop_and_count():
    """The wire is stopped and no packet comes: what does not fit each queue is dropped; what fits is done in order."""

    async def story(context, world):
        firmware = world.firmware
        world.sink.pins.set(stop=1)
        for n in range(8):
            await firmware.post(64 * n, 64 * n + 64)
        assert await firmware.load("RECV_STATUS") == 0 | Status.LINK_UP
        await counted(world, QUEUE_OVERFLOWS=4)
        for n in range(4):
            await world.source.send(WORDS[:n])
            assert await finished_packet(world) == (Verdict.VALID, 4 * n)

    run(story)


def test_a_flood_of_doorbells_is_all_there():
    async def story(context, world):
        for n in range(40):
            await world.host.write_register("DOORBELL", 1 << (n % 32))
        await world.host.read_register("ID")  # behind the last write
        firmware = world.firmware
        assert await firmware.load("DOORBELL") == 0xFFFFFFFF
        assert await firmware.load("ISR") & Event.DOORBELL
        await firmware.store("DOORBELL", 0xFFFFFFFF)
        await context.tick()  # a level shows in ISR two slots after its cause, which is the next instruction
        assert await firmware.load("ISR") & Event.DOORBELL == 0
        await counted(world, DOORBELLS=40)

    run(story)


def test_pio_outside_the_map():
    async def story(context, world):
        before = world.chip.peek(context, 0, SRAM)
        for offset in (SRAM, 0xFFFFC, 0x102000, 0x1FFFFC):
            await world.host.write(offset, 0xFFFFFFFF)
            assert await world.host.read(offset) == 0xFFFFFFFF
        assert world.chip.peek(context, 0, SRAM) == before
        await counted(world, PIO_FAULTS=8)

    run(story)


HEAD, TAIL = (Kind.HEAD, 0), (Kind.TAIL, crc32(WORDS))
BODY = [(Kind.DATA, word) for word in WORDS]
BROKEN = {
    "wrong crc": ([HEAD, *BODY, (Kind.TAIL, 5)], (Verdict.VALID | Verdict.CRC, 32), {"RX_CRC_ERRORS": 1}),
    "lost word": ([HEAD, *BODY[1:], TAIL], (Verdict.VALID | Verdict.CRC, 28), {"RX_CRC_ERRORS": 1}),
    "truncated": ([HEAD, *BODY[:3]], (Verdict.VALID | Verdict.TRUNCATED, 12), {"RX_TRUNCATED": 1}),
    "too long": (
        [HEAD, *BODY * 9, TAIL],
        (Verdict.VALID | Verdict.CRC | Verdict.OVERRUN, 256),
        {"RX_OVERRUNS": 1, "RX_CRC_ERRORS": 1},
    ),
    "misrouted": ([(Kind.HEAD, 0x85000000), *BODY, TAIL], None, {"RX_MISROUTED": 1}),
    "stray": ([*BODY, TAIL], None, {"RX_STRAYS": 9}),
    "empty": ([HEAD, (Kind.TAIL, crc32([]))], (Verdict.VALID, 0), {}),
}


def test_broken_packets_are_told_and_the_next_is_sound():
    """A sound packet follows each broken one: what went wrong ends with the packet it befell."""

    async def story(context, world):
        guard = bytes(range(64)) * 4
        world.chip.poke(context, 0x500, guard)
        expected = Counter()
        for flits, outcome, counters in BROKEN.values():
            if outcome:
                await world.firmware.post(0x400, 0x500)
            await world.firmware.post(0x600, 0x700)
            await world.source.flits(flits)
            await world.source.send(WORDS)
            if outcome:
                assert await finished_packet(world) == outcome
            assert await finished_packet(world) == (Verdict.VALID, 32)
            assert world.chip.peek(context, 0x500, 256) == guard
            expected += Counter(counters)
        await counted(world, **expected)

    run(story)


def test_a_link_that_dies_amid_a_packet():
    async def story(context, world):
        await world.firmware.post(0x400, 0x500)
        await world.source.flits([HEAD, *BODY])
        await world.source.down(20)
        assert await finished_packet(world) == (Verdict.VALID | Verdict.TRUNCATED, 32)
        await counted(world, RX_TRUNCATED=1, LINK_DOWNS=1)
        assert await world.firmware.load("RECV_STATUS") & Status.LINK_UP

    run(story)


def test_a_packet_without_a_buffer_waits_on_the_wire():
    words = list(range(90))

    async def story(context, world):
        async def late_buffer():
            await world.firmware.post(0x400, 0x800)

        source = LinkSource(world.source.pins)
        flits = source.packet(words)
        sent = 0
        for flit in flits:
            (stop,) = world.source.pins.now("stop")
            if stop:
                break
            world.source.pins.set(kind=flit[0], data=flit[1])
            await world.source.pins.step()
            sent += 1
        assert 20 < sent < len(flits), "STOP must come before the packet is through"
        world.source.pins.set(kind=Kind.IDLE)
        await late_buffer()
        await source.flits(flits[sent:])
        assert await finished_packet(world) == (Verdict.VALID, 4 * len(words))
        assert await world.firmware.load("RX_STOPS")

    run(story)


def test_reset_in_the_midst_of_everything():
    """CONTROL.RESET while all engines work: afterwards all is as new, but for the SRAM, and works."""

    async def story(context, world):
        firmware = world.firmware
        world.memory.load(0x1000, bytes(range(256)) * 8)
        await firmware.host_dma(0x1000, 0, 2048, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
        await firmware.send(0, 0, 2048, WHOLE | SendStart.CHASE)
        await firmware.post(0x2000, 0x3000)
        await world.source.flits([HEAD, *BODY])
        await context.tick().repeat(60)
        await world.host.write_register("CONTROL", Control.RESET)
        assert await world.host.read_register("CONTROL") == 0
        for name in ("ISR", "HDMA_DONE", "RECV_COUNT", "SEND_CREDIT", "TX_FLITS"):
            assert await world.host.read_register(name) == 0
        assert await firmware.load("HDMA_STATUS") == 4
        assert world.chip.peek(context, 0, 32) == bytes(range(32))
        await firmware.post(0x2000, 0x3000)
        await world.source.send(WORDS)
        assert await finished_packet(world) == (Verdict.VALID, 32)
        await firmware.host_dma(0x1000, 0x101, 33, HostDmaStart.TO_SRAM)
        await firmware.until("HDMA_DONE", 1)
        assert world.chip.peek(context, 0x101, 33) == bytes(range(33))

    run(story)
