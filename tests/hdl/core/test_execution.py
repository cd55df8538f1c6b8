"""The effects of instructions, case by case; the random proof against the golden model is in
tests/sim/corebench/test_lockstep.py."""

import random

import pytest

from lanai_hdl.isa import Access, AluOp, Condition, Function, TrapCause
from lanai_hdl.isa.operations import Special
from lanai_hdl.machine import REGISTERS_LOCAL

from .bench import SRAM, asm, jump, run

DATA = 0x200
STOP = 0x300  # an undefined word there ends a program


def ends(code, data=()):
    """Run straight-line code, then stop at an undefined word. `data` lies at DATA."""
    ran = run({0: [*code, jump(STOP), 1], DATA: list(data), STOP: [0xFFFFFFFF]}, slots=120)
    assert ran.trap == (TrapCause.UNDEFINED, STOP)
    return ran


def constant(rd, value):
    """Any 32-bit constant in two instructions, as compiled code does."""
    return [
        asm("RI", op=AluOp.ADD, rd=rd, rs1=0, imm=value >> 16, high=1),
        asm("RI", op=AluOp.OR, rd=rd, rs1=rd, imm=value & 0xFFFF),
    ]


@pytest.mark.parametrize(
    ("op", "a", "b", "result"),
    [
        (AluOp.ADD, 0xFFFFFFFF, 1, 0),
        (AluOp.SUB, 3, 5, 0xFFFFFFFE),
        (AluOp.AND, 0xF0F0F0F0, 0xFF00FF00, 0xF000F000),
        (AluOp.OR, 0x0F, 0xF0, 0xFF),
        (AluOp.XOR, 0xFF, 0x0F, 0xF0),
    ],
)
def test_operations(op, a, b, result):
    assert ends([*constant(6, a), *constant(7, b), asm("RR", op=op, rd=8, rs1=6, rs2=7)]).registers[8] == result


@pytest.mark.parametrize(
    ("value", "amount", "arithmetic", "result"),
    [
        (0x0F00000F, 4, 0, 0xF00000F0),
        (0x80000000, -4, 0, 0x08000000),
        (0x80000000, -4, 1, 0xF8000000),
        (0x80000000, 0, 1, 0x80000000),
        (0x80000001, -31, 0, 1),
    ],
)
def test_shifts(value, amount, arithmetic, result):
    shift = asm("RI", op=AluOp.SHIFT, rd=8, rs1=6, high=arithmetic, imm=amount & 0xFFFF)
    assert ends([*constant(6, value), shift]).registers[8] == result


def test_carry_chains_through_addc_and_subb():
    code = [
        *constant(6, 0xFFFFFFFF),
        asm("RI", op=AluOp.ADD, rd=7, rs1=6, imm=1, flags=1),
        asm("RR", op=AluOp.ADDC, rd=8, rs1=0, rs2=0),
        asm("RI", op=AluOp.SUB, rd=7, rs1=0, imm=1, flags=1),
        asm("RR", op=AluOp.SUBB, rd=9, rs1=0, rs2=0),
    ]
    ran = ends(code)
    assert ran.registers[8] == 1
    assert ran.registers[9] == 0xFFFFFFFF


@pytest.mark.parametrize("cond", Condition)
def test_conditions_after_a_comparison(cond):
    """5 - 7: not zero, negative, borrow (no carry), no overflow."""
    code = [
        asm("RI", op=AluOp.ADD, rd=6, rs1=0, imm=5),
        asm("RI", op=AluOp.SUB, rd=0, rs1=6, imm=7, flags=1),
        asm("SCC", rd=8, cond=cond),
        asm("RR", op=AluOp.SHIFT, special=Special.PLAIN, rd=9, rs1=6, rs2=0, cond=cond),
    ]
    ran = ends(code)
    holds = cond.holds(z=False, n=True, c=False, v=False)
    assert ran.registers[8] == holds
    assert ran.registers[9] == (5 if holds else 0)


def test_false_predicate_keeps_rd_and_sets_flags_from_it():
    code = [
        asm("RI", op=AluOp.SUB, rd=0, rs1=0, imm=0, flags=1),  # Z
        asm("RI", op=AluOp.ADD, rd=6, rs1=0, imm=9),
        asm("RR", op=AluOp.ADD, rd=6, rs1=0, rs2=0, cond=Condition.NE, flags=1),  # false: r6 stays 9, Z clear
        asm("SCC", rd=7, cond=Condition.EQ),
    ]
    ran = ends(code)
    assert ran.registers[6] == 9
    assert ran.registers[7] == 0


@pytest.mark.parametrize(
    ("function", "value", "result"),
    [(Function.POPC, 0xF0F, 8), (Function.LEADZ, 0x00800000, 8), (Function.TRAILZ, 0, 32)],
)
def test_bit_counts(function, value, result):
    assert ends([*constant(6, value), asm("SPECIAL", rd=8, rs1=6, function=function)]).registers[8] == result


@pytest.mark.parametrize(
    ("access", "offset", "result"),
    [
        (Access.WORD, 0, 0x81828384),
        (Access.HALF, 0, 0xFFFF8182),
        (Access.UHALF, 2, 0x8384),
        (Access.BYTE, 1, 0xFFFFFF82),
        (Access.UBYTE, 3, 0x84),
    ],
)
def test_loads_pick_and_extend(access, offset, result):
    code = [
        asm("SLI", rd=6, imm=DATA),
        asm("RI", op=AluOp.ADD, rd=7, rs1=0, imm=offset),
        asm("RRM", rd=8, rs1=6, rs2=7, op=AluOp.ADD, pre=1, access=access),
        asm("RI", op=AluOp.ADD, rd=9, rs1=8, imm=0),  # the value is there for the very next instruction
    ]
    ran = ends(code, [0x81828384])
    assert ran.registers[8] == ran.registers[9] == result


def test_stores_touch_their_bytes_only():
    code = [
        *constant(6, 0x11223344),
        asm("SLI", rd=7, imm=DATA),
        asm("SPLS", rd=6, rs1=7, byte=1, store=1, pre=1, imm=1),
        asm("SPLS", rd=6, rs1=7, store=1, pre=1, imm=2),
    ]
    ran = ends(code, [0xAAAAAAAA])
    assert ran.memory[DATA // 4] == 0xAA443344


@pytest.mark.parametrize(("pre", "loaded"), [(0, 10), (1, 20)])
def test_update_modes(pre, loaded):
    code = [asm("SLI", rd=6, imm=DATA), asm("RM", rd=8, rs1=6, imm=4, pre=pre, update=1)]
    ran = ends(code, [10, 20])
    assert ran.registers[8] == loaded
    assert ran.registers[6] == 0x204


def test_delay_slots_one_after_a_branch_two_after_a_load_to_pc():
    add = asm("RI", op=AluOp.ADD, rd=7, rs1=7, imm=1)
    program = {
        0: [jump(0x40), add, add],
        0x40: [asm("RM", rd=2, rs1=0, imm=0x200, pre=1), add, add, add],
        0x200: [STOP],
        STOP: [0xFFFFFFFF],
    }
    assert run(program, slots=100).pcs == [0, 4, 0x40, 0x44, 0x48]


def test_reading_pc_gives_the_readers_own_address():
    ran = run(
        {0: [jump(0x40), 1], 0x40: [asm("RI", op=AluOp.ADD, rd=15, rs1=2, imm=0x10), jump(STOP), 1], STOP: [0xFFFFFFFF]}
    )
    assert ran.registers[15] == 0x50


@pytest.mark.parametrize(
    ("code", "cause", "at"),
    [
        ([asm("RM", rd=6, rs1=0, imm=2, pre=1)], TrapCause.MISALIGNED, 0),
        ([asm("SLI", rd=6, imm=SRAM), asm("RM", rd=7, rs1=6, imm=0)], TrapCause.UNMAPPED, 4),
        ([asm("SLI", rd=6, imm=REGISTERS_LOCAL), asm("SPLS", rd=7, rs1=6, byte=1, imm=0)], TrapCause.REGISTER_SIZE, 4),
        ([jump(0x40), jump(0x80)], TrapCause.TRANSFER_IN_SLOT, 4),
        ([jump(SRAM), 1], TrapCause.FETCH_UNMAPPED, SRAM),
        ([asm("RI", op=AluOp.OR, rd=2, rs1=0, imm=0x42), 1], TrapCause.FETCH_MISALIGNED, 0x42),
        ([0xD0000000], TrapCause.UNDEFINED, 0),
    ],
)
def test_traps_name_cause_and_pc_and_stop(code, cause, at):
    ran = run({0: [*code]}, slots=100)
    assert ran.trap == (cause, at)
    assert ran.idle[-1], "a stopped core is idle"
    assert not any(ran.requests[-20:])


def test_a_trapping_access_leaves_its_base_alone():
    code = [asm("SLI", rd=6, imm=0x201), asm("RM", rd=7, rs1=6, imm=4, update=1)]
    ran = run({0: code}, slots=60)
    assert ran.trap == (TrapCause.MISALIGNED, 4)
    assert ran.registers == {6: 0x201}


# The timing of instructions: two slots each with the bus free, what a taken edge costs (NP-57, NP-58),
# what WAIT does.

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
