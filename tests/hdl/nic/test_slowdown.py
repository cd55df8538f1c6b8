"""The slowdown of the processor by DMA (NP-58, NP-B6): real engines take the slots, the real processor
runs the loop."""

import pytest

from lanai_hdl.bfm import Chip, LinkSource, PysimPins
from lanai_hdl.bfm.chip import SMALL
from lanai_hdl.core.core import Core
from lanai_hdl.isa import AluOp, encode
from lanai_hdl.isa.formats import BR, RI, RM, SLI
from lanai_hdl.machine import REGISTERS_LOCAL, Control, HostDmaStart, SendStart, offset

BASE, VALUE, DATA = 4, 5, 20
LOOP_DATA, MOVED = 0x400, 0x1000
# The host bus at the slot clock brings more than an edge carries, so the host DMA wants every even
# slot: the LBUS is what is measured.
CONFIG = SMALL.but(host_bus_khz=66_000)


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
    core = Core(CONFIG.sram_size)
    chip = Chip(CONFIG, init=[*setup, *half_memory_loop(start)], processor=core)
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
