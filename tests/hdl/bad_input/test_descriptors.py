"""Descriptors and buffers that no sound firmware would post: lengths of 0 and beyond the limit,
across the end of the SRAM and of the host's addresses, no direction, pages that are not there, full
queues."""

from lanai_hdl.machine import PAGE_SIZE, Event, HostDmaStart, SendStart, Status, Verdict

from .bench import HOST, HOST_PATTERN, PATTERN, SRAM, WHOLE, Told, survive, survive_on_a_loop

IN, OUT, FEED = HostDmaStart.TO_SRAM, HostDmaStart.TO_HOST, HostDmaStart.FEED
DONE, FAILED = Event.HOST_DMA_DONE, Event.HOST_DMA_DONE | Event.HOST_DMA_ERROR | Event.BUS_ERROR
BUFFER = 0x400


async def transfer(nic, host, local, length, flags):
    """Runs one host DMA; gives whether it failed."""
    done = await nic.firmware.load("HDMA_DONE") + 1
    beats = len(nic.memory.log)
    await nic.firmware.host_dma(host, local, length, flags)
    await nic.firmware.until("HDMA_DONE", done)
    failed = bool(await nic.firmware.load("HDMA_STATUS") & Status.ERROR)
    return failed, len(nic.memory.log) - beats


def refused(name, host, local, length, flags):
    async def fault(nic):
        assert await transfer(nic, host, local, length, flags) == (True, 0), "a refused transfer touches no host memory"
        return Told({"HDMA_ERRORS": 1}, FAILED)

    fault.__name__ = name
    return fault


REFUSED = [
    refused("in across the end", HOST, SRAM - 8, 9, IN),
    refused("out across the end", HOST, SRAM - 8, 9, OUT),
    refused("in behind the end", HOST, SRAM, 1, IN),
    refused("in far behind", HOST, 0xFFFFFFFC, 8, IN),
    refused("nothing, behind the end", HOST, SRAM + 4, 0, IN),
    refused("longest", HOST, 0, 0xFFFFFFFF, OUT),
    refused("one longer than the SRAM", HOST, 0, SRAM + 1, OUT),
    refused("in from beyond the host's addresses", 0xFFFFFFFC, BUFFER, 5, IN),
    refused("out to beyond the host's addresses", 0xFFFFFFFF, BUFFER, 2, OUT),
    refused("no direction", HOST, BUFFER, 8, 0),
    refused("both directions", HOST, BUFFER, 8, IN | OUT),
]


async def of_length_0(nic):
    for flags in (IN, OUT):
        assert await transfer(nic, HOST, BUFFER, 0, flags) == (False, 0)
        assert await transfer(nic, HOST, SRAM, 0, flags) == (False, 0)
    return Told(events=DONE)


async def up_to_the_very_end(nic):
    """Transfer the last bytes that are allowed: of the SRAM, and of the host's addresses."""
    assert await transfer(nic, HOST + 1, SRAM - 7, 7, IN) == (False, 2)
    assert await transfer(nic, 0xFFFFFFFA, BUFFER, 6, OUT) == (False, 2)
    return Told(
        events=DONE, sram={SRAM - 7: HOST_PATTERN[1:8]}, host={0xFFFFFFFA: bytes(nic.sram[BUFFER : BUFFER + 6])}
    )


async def into_a_page_that_is_not_there(nic):
    nic.memory.refused.add(HOST // PAGE_SIZE + 1)
    assert (await transfer(nic, HOST + PAGE_SIZE - 8, BUFFER, 16, OUT))[0]
    nic.memory.refused.clear()
    return Told({"HDMA_ERRORS": 1}, FAILED, host={HOST + PAGE_SIZE - 8: bytes(nic.sram[BUFFER : BUFFER + 8])})


async def out_of_a_page_that_is_not_there(nic):
    nic.memory.refused.add(HOST // PAGE_SIZE)
    for host, local in ((HOST + PAGE_SIZE - 3, BUFFER), (HOST + PAGE_SIZE - 1, BUFFER), (HOST + 2, BUFFER + 1)):
        assert (await transfer(nic, host, local, 16, IN))[0]
    nic.memory.refused.clear()
    return Told({"HDMA_ERRORS": 3}, FAILED)


async def one_that_stops(nic):
    """A failed descriptor with STOP holds those behind it until HOST_DMA_ERROR is cleared; it is
    named by HDMA_DONE and HDMA_POINTER."""
    firmware = nic.firmware
    done = await firmware.load("HDMA_DONE")
    nic.memory.refused.add(HOST // PAGE_SIZE)
    await firmware.host_dma(HOST, BUFFER, 8, OUT | HostDmaStart.STOP)
    await firmware.host_dma(HOST + PAGE_SIZE, BUFFER + 8, 8, OUT)
    while not await firmware.load("HDMA_STATUS") & Status.STOPPED:
        pass
    assert await firmware.load("ISR") & FAILED == Event.HOST_DMA_ERROR | Event.BUS_ERROR
    assert (await firmware.load("HDMA_DONE"), await firmware.load("HDMA_POINTER")) == (done, BUFFER + 8)
    await firmware.store("ISR", ~Event.HOST_DMA_ERROR & 0xFFFFFFFF)  # clears all others
    assert await firmware.load("HDMA_STATUS") & Status.STOPPED
    nic.memory.refused.clear()
    await firmware.store("ISR", Event.HOST_DMA_ERROR)
    await firmware.until("HDMA_DONE", done + 2)
    assert not await firmware.load("HDMA_STATUS") & (Status.STOPPED | Status.ERROR)
    return Told({"HDMA_ERRORS": 1}, DONE, host={HOST + PAGE_SIZE: bytes(nic.sram[BUFFER + 8 : BUFFER + 16])})


def test_host_dma_across_any_end():
    survive(
        *REFUSED,
        of_length_0,
        up_to_the_very_end,
        into_a_page_that_is_not_there,
        out_of_a_page_that_is_not_there,
        one_that_stops,
    )


def send(name, pieces, verdict, words=b"", counts=None, *, events=Event.LINK_ERROR):
    """A fault on a looped cable: the pieces (pointer, length, flags), then a packet of 4 bytes;
    `verdict` is of what arrives before that."""

    async def fault(nic):
        told = {0xC00: nic.sram[:4]}
        if verdict is not None:
            await nic.firmware.post(BUFFER, BUFFER + 0x400)
            told[BUFFER] = words
        await nic.firmware.post(0xC00, 0xD00)
        for pointer, length, flags in [*pieces, (0, 4, WHOLE)]:
            await nic.firmware.send(0, pointer, length, flags)
        if verdict is not None:
            assert await nic.take() == (verdict, len(words)), name
        assert await nic.take() == (Verdict.VALID, 4), name
        return Told(counts or {}, events | Event.SEND_DONE, told)

    fault.__name__ = name
    return fault


FIRST, LAST, CHASE = SendStart.FIRST, SendStart.LAST, SendStart.CHASE
WRONG = Verdict.VALID | Verdict.CRC
LEFT = {"SEND_ERRORS": 1, "RX_CRC_ERRORS": 1}
LEFT_EVENTS = Event.LINK_ERROR | Event.BUS_ERROR
SENDS = [
    send("across the end", [(SRAM - 4, 8, WHOLE)], WRONG, counts=LEFT, events=LEFT_EVENTS),
    send("behind the end", [(SRAM, 1, WHOLE)], WRONG, counts=LEFT, events=LEFT_EVENTS),
    send("longest", [(0, 0xFFFFFFFF, WHOLE)], WRONG, counts=LEFT, events=LEFT_EVENTS),
    send("far behind", [(0xFFFFFFFC, 8, WHOLE)], WRONG, counts=LEFT, events=LEFT_EVENTS),
    send("chasing what it may not", [(SRAM, 8, WHOLE | CHASE)], WRONG, counts=LEFT, events=LEFT_EVENTS),
    send(
        "a piece in the middle",
        [(0x10, 8, FIRST), (SRAM - 4, 8, 0), (0x20, 4, LAST)],
        WRONG,
        PATTERN[0x10:0x18] + PATTERN[0x20:0x24],
        LEFT,
        events=LEFT_EVENTS,
    ),
    send(
        "a refused piece of a packet that never ends",
        [(SRAM, 8, FIRST)],
        Verdict.VALID | Verdict.TRUNCATED,
        counts={"SEND_ERRORS": 1, "RX_TRUNCATED": 1},
        events=LEFT_EVENTS,
    ),
    send("of length 0", [(0, 0, WHOLE)], Verdict.VALID, events=Event(0)),
    send("of length 0 at the end", [(SRAM, 0, WHOLE)], Verdict.VALID, events=Event(0)),
    send("a piece of nothing", [(0, 0, 0)], None, events=Event(0)),
    send("the last bytes", [(SRAM - 5, 5, WHOLE)], Verdict.VALID, PATTERN[SRAM - 8 :], events=Event(0)),
    send("no first", [(0, 8, LAST)], None, counts={"RX_STRAYS": 3}),
    send(
        "first twice",
        [(0x10, 8, FIRST)],
        Verdict.VALID | Verdict.TRUNCATED,
        PATTERN[0x10:0x18],
        {"RX_TRUNCATED": 1},
    ),
]


def test_sends_across_any_end():
    survive_on_a_loop(*SENDS)


MOST_FED = (1 << 21) - 1  # machine.SEND_CREDIT: what a refused descriptor adds at most


def unsound_food(name, host, local, flags, events=FAILED, length=8):
    """A packet of 8 bytes that chases what never came: it ends, wrong. Of the credit only what it
    did not ask for is left."""

    async def fault(nic):
        nic.memory.refused.add(0x77)
        await nic.firmware.post(BUFFER, BUFFER + 0x400)
        await nic.firmware.send(0, 0x800, 8, WHOLE | CHASE)
        await nic.firmware.host_dma(host, local, length, flags | FEED)
        assert await nic.take() == (WRONG, 8), name
        left = min(length, MOST_FED) - 8
        assert await nic.firmware.load("SEND_CREDIT") == left
        await nic.firmware.store("SEND_CREDIT", -left & 0xFFFFFFFF)
        nic.memory.refused.clear()
        told = {BUFFER: bytes(nic.sram[0x800:0x808])}
        return Told({"HDMA_ERRORS": 1, "RX_CRC_ERRORS": 1}, events | Event.LINK_ERROR | Event.SEND_DONE, told)

    fault.__name__ = name
    return fault


LONG = [
    0x10_0000,
    MOST_FED,
    MOST_FED + 1,
    MOST_FED + 9,
    0x40_0000,
    0xFFFF_FFFF,
]  # of the register's 32 bits, 21 reach the engine


def test_a_send_never_waits_for_food_that_cannot_come():
    survive_on_a_loop(
        unsound_food("a page that is not there", 0x77000, 0x800, IN),
        unsound_food("refused", HOST, SRAM - 4, IN),
        unsound_food("no direction", HOST, 0x800, 0),
        unsound_food("both directions", HOST, 0x800, IN | OUT),
        *(unsound_food(f"refused, of {size} bytes", HOST, 0x800, IN, length=size) for size in LONG),
    )


def buffer(pointer, limit):
    async def fault(nic):
        await nic.firmware.post(pointer, limit)
        assert await nic.firmware.load("RECV_STATUS") == 4 | Status.LINK_UP
        return Told({"RECV_REFUSED": 1}, Event.BUS_ERROR)

    fault.__name__ = f"buffer {pointer:#x}..{limit:#x}"
    return fault


BUFFERS = [(0, SRAM + 4), (SRAM + 4, SRAM + 8), (64, 60), (2, 64), (0, 66), (0xFFFFFFF0, 0xFFFFFFF8), (0, 0x80000000)]


def test_buffers_across_any_end():
    survive(*(buffer(pointer, limit) for pointer, limit in BUFFERS))
