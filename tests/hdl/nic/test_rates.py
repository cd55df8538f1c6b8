"""The rates of the engines: exact figures of the 1999 testbed, each with its bound in
`NicConfig`."""

import random
from itertools import pairwise

import pytest

from lanai_hdl.bfm import Chip, LinkSource, Pair, PysimPins
from lanai_hdl.bfm.chip import SMALL
from lanai_hdl.config import lanai41
from lanai_hdl.core.core import Core
from lanai_hdl.isa import AluOp, encode
from lanai_hdl.isa.formats import BR, RI, RM, SLI
from lanai_hdl.link.flit import Kind
from lanai_hdl.machine import REGISTERS_LOCAL, Control, Event, HostDmaStart, SendStart, Verdict, offset

PAGE = 4096
PAGES = 2
CONFIG = lanai41().but(sram_size=32768)


def blob(size, seed=1):
    return random.Random(seed).randbytes(size)


def mb_per_second(size, slots, config=CONFIG):
    return round(size * config.slot_khz / slots / 1000, 3)


async def queue_pages(world, count, flags):
    firmware = world.firmware
    for page in range(count):
        await firmware.host_dma(0x10000 + page * PAGE, page * PAGE, PAGE, flags)
    await firmware.until("HDMA_DONE", count)


def measure_host_dma(flags):
    """Two pages, queued at once: slots from the first beat to the last, and bytes a host bus clock
    within bursts."""
    found = {}

    async def script(context, world):
        data = blob(PAGES * PAGE)
        world.memory.load(0x10000, data)
        chip.poke(context, 0, data)
        await queue_pages(world, PAGES, flags)
        slots = [slot for slot, _, _ in world.memory.log]
        assert len(slots) == PAGES * PAGE // 4
        found["slots"] = slots[-1] - slots[0] + 1
        bursts = [pair for pair in pairwise(world.memory.log) if pair[1][2] % CONFIG.max_burst]
        between = {later[0] - earlier[0] for earlier, later in bursts}
        found["bytes_per_clock"] = {4 * CONFIG.slot_khz / (gap * CONFIG.host_bus_khz) for gap in between}
        found["sound"] = chip.peek(context, 0, len(data)) == data == world.memory.dump(0x10000, len(data))

    chip = Chip(CONFIG)
    chip.run(script)
    assert found["sound"]
    return found


@pytest.mark.bench
@pytest.mark.slow
def test_host_dma_reads_above_125_mb_per_second(expected):
    found = measure_host_dma(HostDmaStart.TO_SRAM)
    rate = mb_per_second(PAGES * PAGE, found["slots"])
    assert rate >= 125
    expected("nic.host_dma.read_mb_per_second", rate)
    (in_bursts,) = found["bytes_per_clock"]
    expected("nic.host_dma.burst_bytes_per_clock", in_bursts)


@pytest.mark.bench
@pytest.mark.slow
def test_host_dma_writes_above_125_mb_per_second(expected):
    found = measure_host_dma(HostDmaStart.TO_HOST)
    rate = mb_per_second(PAGES * PAGE, found["slots"])
    assert rate >= 125
    assert found["bytes_per_clock"] == {4}
    expected("nic.host_dma.write_mb_per_second", rate)


@pytest.mark.bench
@pytest.mark.slow
def test_host_bus_and_link_work_at_once(expected):
    """A page comes from the host while another leaves for the wire, the processor idle: neither
    slows the other.

    The send DMA has one edge of the LBUS and so feeds the link 132 MB/s at 66 MHz, of the 160 that
    the link could carry.
    """
    found = {}

    async def script(context, world):
        firmware = world.firmware
        await firmware.send(0, 0x4000, PAGE, SendStart.FIRST | SendStart.LAST)
        await firmware.host_dma(0x10000, 0, PAGE, HostDmaStart.TO_SRAM)
        await firmware.until("HDMA_DONE", 1)
        while not world.sink.packets:
            await context.tick()
        data = [slot for slot, kind, _ in world.sink.flits if kind is Kind.DATA]
        found["send"] = mb_per_second(PAGE - 4, data[-1] - data[0])
        beats = [slot for slot, _, _ in world.memory.log]
        found["host"] = beats[-1] - beats[0] + 1
        found["waited"] = await firmware.load("SLOTS_HDMA_WAITED") + await firmware.load("SLOTS_SEND_WAITED")
        found["processor"] = await firmware.load("SLOTS_CPU_USED")

    Chip(CONFIG).run(script)
    assert found["send"] * 1e6 == CONFIG.edge_bytes_per_second
    assert found["waited"] == 0
    assert found["processor"] == 0, "the processor is idle"
    expected("nic.both.send_mb_per_second", found["send"])
    expected("nic.both.host_dma_slots_4096", found["host"])


def test_a_block_written_by_pio_takes_as_long_in_whichever_slot_it_begins():
    """One word a bus clock, and the setup of each line, although the SRAM serves the host in even
    slots only."""
    words = [random.Random(2).getrandbits(32) for _ in range(64)]
    took = []

    async def script(context, world):
        for wait in (0, 1):
            while not context.get(chip.nic.idle) or context.get(chip.nic.now) % 2 != wait:
                await context.tick()
            begin = context.get(chip.nic.now)
            await world.host.write_words(0x400 * (wait + 1), words)
            took.append(context.get(chip.nic.now) - begin)
            await context.tick().repeat(8)
            assert chip.peek(context, 0x400 * (wait + 1), 256) == b"".join(word.to_bytes(4, "big") for word in words)

    chip = Chip(CONFIG)
    chip.run(script)
    clock = CONFIG.slot_khz // CONFIG.host_bus_khz
    lines = 4 * len(words) // CONFIG.pio_line
    assert max(took) <= clock * (len(words) + lines * (CONFIG.pio_write_setup + 1)) + 4
    assert max(took) - min(took) <= 1


# The slowdown of the processor by DMA (NP-58, NP-B6): real engines take the slots, the real processor
# runs the loop.

BASE, VALUE, DATA = 4, 5, 20
LOOP_DATA, MOVED = 0x400, 0x1000
# The host bus at the slot clock brings more than an edge carries, so the host DMA wants every even
# slot: the LBUS is what is measured.
CONFIG_SLOWDOWN = SMALL.but(host_bus_khz=66_000)


def stores(registers):
    """Instructions that store values to on-chip registers."""
    program = [encode(SLI, rd=BASE, imm=REGISTERS_LOCAL)]
    for name, value in registers:
        program += [encode(SLI, rd=VALUE, imm=value), encode(RM, store=1, rd=VALUE, rs1=BASE, pre=1, imm=offset(name))]
    return program


def half_memory_loop(start):
    """16 instructions, every other one a memory reference, for ever; the last stands in the
    branch's slot."""
    body = []
    for index in range(7):
        body.append(encode(RM, store=index & 1, rd=21, rs1=DATA, pre=1, imm=4 * index))
        body.append(encode(RI, op=AluOp.ADD, rd=22, rs1=22, imm=index))
    return [*body, encode(BR, target=start), encode(RM, rd=23, rs1=DATA, pre=1, imm=64)]


HOST = [("HDMA_LOCAL", MOVED), ("HDMA_LENGTH", 8192), ("HDMA_START", HostDmaStart.TO_SRAM)]
TO_HOST = [*HOST[:2], ("HDMA_START", HostDmaStart.TO_HOST)]
SEND = [("SEND_POINTER", MOVED), ("SEND_LENGTH", 8192), ("SEND_START", SendStart.FIRST | SendStart.LAST)]
RECEIVE = [("RECV_POINTER", MOVED), ("RECV_LIMIT", MOVED + 8192)]


def cycles_per_pass(registers, *, receive=False, slots=400):
    """Mean cycles of a pass once the engines are under way; 0 if there was none in `slots`."""
    setup = [*stores(registers), encode(SLI, rd=DATA, imm=LOOP_DATA)]
    start = 4 * len(setup)
    core = Core(CONFIG_SLOWDOWN.sram_size)
    chip = Chip(CONFIG_SLOWDOWN, init=[*setup, *half_memory_loop(start)], processor=core)
    heads = []

    async def watch(context):
        async for *_, now, retired in context.tick().sample(chip.nic.now, core.retire):
            if retired.valid and retired.pc == start:
                heads.append(now)

    async def flood(context):
        """A sender as fast as the receiver's STOP lets them."""
        await LinkSource(PysimPins(context, chip.nic.link_rx)).send(range(10_000))

    async def script(context, world):
        await world.host.write_register("CONTROL", Control.RUN)
        await context.tick().repeat(200 + slots)

    chip.bench.add_background(watch)
    if receive:
        chip.bench.add_background(flood)
    chip.run(script)
    begun = [now for now in heads if now > 200]
    return (begun[-1] - begun[0]) / 2 / (len(begun) - 1) if len(begun) > 1 else 0


def test_alone_an_instruction_is_a_cycle():
    assert cycles_per_pass([]) == 16


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "registers", "receive"),
    [
        ("host_to_sram", HOST, False),
        ("sram_to_host", TO_HOST, False),
        ("send", SEND, False),
        ("receive", RECEIVE, True),
    ],
)
def test_one_engine_costs_half_as_much_again(expected, engine, registers, receive):
    slowdown = cycles_per_pass(registers, receive=receive) / 16
    assert slowdown == 1.5
    expected(f"nic.slowdown.{engine}", slowdown)


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.parametrize(
    ("engines", "registers", "receive"),
    [("host_and_send", SEND + HOST, False), ("host_and_receive", RECEIVE + HOST, True)],
)
def test_two_engines_stop_the_processor(expected, engines, registers, receive):
    passes_per_slot = cycles_per_pass(registers, receive=receive)
    assert passes_per_slot == 0
    expected(f"nic.progress.{engines}", passes_per_slot)


# One message from host memory to host memory, all five stages at once (NP-51).

CONFIG_CUT_THROUGH = lanai41().but(sram_size=32768)
SIZE = 4096
HEADER = 32


def slots_alone(count_setup):
    """The slowest stage by itself: a page over the host bus, in bursts."""
    clocks = SIZE // 4 + SIZE // CONFIG_CUT_THROUGH.max_burst * count_setup
    return clocks * CONFIG_CUT_THROUGH.slot_khz // CONFIG_CUT_THROUGH.host_bus_khz


@pytest.mark.ci
def test_a_page_is_cut_through_within_a_tenth_of_its_slowest_stage(expected):
    data = random.Random(1).randbytes(SIZE)
    pair = Pair(CONFIG_CUT_THROUGH, slots=8000)

    async def sender(context, world):
        firmware = world.firmware
        world.memory.load(0x10000, data)
        await firmware.host_dma(0x10000, 0x1000, SIZE, HostDmaStart.TO_SRAM | HostDmaStart.FEED)
        await firmware.send(0, 0x0, HEADER, SendStart.FIRST | SendStart.CHECK)
        await firmware.send(0, 0x1000, SIZE, SendStart.LAST | SendStart.CHASE)
        await firmware.until("SEND_DONE", 2)

    async def receiver(context, world):
        firmware = world.firmware
        await firmware.store("RECV_WATERMARK", HEADER)
        await firmware.post(0x2000, 0x2000 + HEADER + SIZE)
        await firmware.wait(Event.RECV_PROGRESS)
        await firmware.host_dma(0x20000, 0x2000 + HEADER, SIZE, HostDmaStart.TO_HOST | HostDmaStart.FOLLOW)
        await firmware.until("HDMA_DONE", 1)
        assert await firmware.load("RECV_VERDICT") == Verdict.VALID | Verdict.CHECKED

    pair.run(sender, receiver)
    memories = [side.world.memory for side in pair.sides]
    assert memories[1].dump(0x20000, SIZE) == data
    slots = memories[1].log[-1][0] - memories[0].log[0][0] + 1
    slowest = slots_alone(CONFIG_CUT_THROUGH.read_setup)
    assert slots <= 1.1 * slowest
    expected("nic.cut_through.slots_4096", slots)
    expected("nic.cut_through.slots_slowest_stage_4096", slowest)
