"""The timing of instructions: two slots each with the bus free, what a taken edge costs (NP-57, NP-58),
what WAIT does."""

import random

import pytest

from lanai_hdl.isa import AluOp
from lanai_hdl.machine import REGISTERS_LOCAL

from .bench import asm, jump, run

LOOP = 0x40


def nothing(slot):
    return False


def even(slot):
    return slot % 2 == 0


def odd(slot):
    return slot % 2 == 1


def both(slot):
    return True


def half_memory():
    """A loop of eight instructions of which four refer to memory."""
    load, store = asm("RM", rd=6, imm=0x200, pre=1), asm("RM", store=1, rd=6, imm=0x204, pre=1)
    add = asm("RI", op=AluOp.ADD, rd=7, rs1=7, imm=1)
    return {0: [jump(LOOP), load], LOOP: [load, add, store, add, load, add, jump(LOOP), store]}


def slots_a_pass(taken, program=None):
    """Slots between the last two times that the loop's first instruction retired."""
    ran = run(program or half_memory(), slots=400, taken=taken)
    passes = [slot for slot, pc, _ in ran.retired if pc == LOOP]
    assert passes[-1] - passes[-2] == passes[2] - passes[1], "the loop has no steady state"
    return passes[-1] - passes[-2]


def test_slowdown_as_published(expected):
    """NP-58: exactly half as long again with either edge taken; no progress with both."""
    free = slots_a_pass(nothing)
    assert free == 8 * 2
    for edge in (even, odd):
        expected("core.slowdown.one_edge_taken", slots_a_pass(edge) / free)
    expected("core.progress.both_edges_taken", len(run(half_memory(), taken=both).retired))


def test_plain_instructions_do_not_slow_down():
    add = asm("RI", op=AluOp.ADD, rd=7, rs1=7, imm=1)
    program = {0: [jump(LOOP), add], LOOP: [*[add] * 6, jump(LOOP), add]}
    assert {slots_a_pass(taken, program) for taken in (nothing, even, odd)} == {8 * 2}


def test_memory_instructions_alone_take_twice_as_long():
    load = asm("RM", rd=6, imm=0x200, pre=1)
    program = {0: [jump(LOOP), load], LOOP: [*[load] * 30, jump(LOOP), load]}
    assert slots_a_pass(nothing, program) == 32 * 2
    assert slots_a_pass(even, program) == slots_a_pass(odd, program) == 31 * 4 + 2


def test_register_access_costs_no_bus_slot():
    load = asm("SLS", rd=6, address=REGISTERS_LOCAL + 0x44)
    program = {0: [jump(LOOP), load], LOOP: [*[load] * 6, jump(LOOP), load]}
    assert {slots_a_pass(taken, program) for taken in (nothing, even, odd)} == {8 * 2}
    ran = run(program, register_value=77)
    assert ran.registers[6] == 77
    assert {(kind, addr) for _, kind, addr, _ in ran.accesses} == {("read", 0x44)}


def test_wait_stalls_the_very_next_instruction_and_shows_idle():
    """`wait` follows a register write as the NIC's does: high from the next slot on, here for 50
    slots."""
    store = asm("SLS", store=1, rd=1, address=REGISTERS_LOCAL + 0x48)
    add = asm("RI", op=AluOp.ADD, rd=7, rs1=0, imm=5)
    program = {0: [store, add, add, add]}

    def wait(slot, ran):
        return bool(ran.accesses) and ran.accesses[0][0] < slot <= ran.accesses[0][0] + 50

    ran = run(program, slots=120, wait=wait)
    stalled = ran.accesses[0][0]
    slots = {pc: slot for slot, pc, _ in ran.retired[:3]}
    assert ran.accesses[0][1:] == ("write", 0x48, 0xFFFFFFFF)
    assert slots[4] > stalled + 50
    assert all(ran.idle[stalled + 4 : stalled + 50])
    assert not any(ran.requests[stalled + 4 : stalled + 50]), "an idle core leaves the bus alone"
    assert not any(ran.idle[:stalled])


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(2, 6))])
def test_results_do_not_depend_on_who_takes_slots(seed):
    rng = random.Random(seed)
    shares = (rng.random() * 0.8, rng.random() * 0.8)
    pattern = [rng.random() < shares[slot & 1] for slot in range(1500)]
    free = run(half_memory(), slots=300)
    busy = run(half_memory(), slots=1500, taken=pattern.__getitem__)
    count = min(len(free.retired), len(busy.retired))
    assert count > 60
    assert [(pc, result) for _, pc, result in free.retired[:count]] == [
        (pc, result) for _, pc, result in busy.retired[:count]
    ]
