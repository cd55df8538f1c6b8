"""Transfers, delay slots, traps, registers, waiting, code that changes."""

import pytest

from lanai_firmware.iss import Memory, Processor, Stop
from lanai_hdl import machine as M
from lanai_hdl.errors import UserError
from lanai_hdl.isa import NOP, AluOp, Reg, Special, TrapCause, encode
from lanai_hdl.isa.formats import BR, RI, RM, RR, RRM, SCC, SLI, SLS, SPECIAL, SPLS


def machine(*words, size=1 << 20, at=0):
    processor = Processor(Memory(size))
    processor.write(at, b"".join(word.to_bytes(4, "big") for word in words))
    processor.reset(at)
    return processor


def add(rd, k):
    return encode(RI, rd=rd, rs1=rd, imm=k)


ONE_SLOT = {
    "BR": encode(BR, target=0x100),
    "RR": encode(RR, op=AluOp.OR, rd=Reg.PC, rs2=20),
    "RI": encode(RI, rd=Reg.PC, rs1=20, imm=0),
    "shift": encode(RI, op=AluOp.SHIFT, rd=Reg.PC, rs1=20, imm=0),
    "SLI": encode(SLI, rd=Reg.PC, imm=0x100),
    "select": encode(RR, op=AluOp.SHIFT, rd=Reg.PC, rs1=20, rs2=0),
}
TWO_SLOTS = {
    "RM": encode(RM, rd=Reg.PC, rs1=21),
    "RRM": encode(RRM, rd=Reg.PC, rs1=21, rs2=0, access=2),
    "SLS": encode(SLS, rd=Reg.PC, address=0x200),
}


@pytest.mark.parametrize("kind", [*ONE_SLOT, *TWO_SLOTS])
def test_delay_slots(kind):
    word = ONE_SLOT.get(kind) or TWO_SLOTS[kind]
    processor = machine(word, add(10, 1), add(10, 2), add(10, 4))
    processor.r[20:22] = [0x100, 0x200]
    processor.write(0x200, (0x100).to_bytes(4, "big"))
    slots = 1 if kind in ONE_SLOT else 2
    assert processor.run(1 + slots) is Stop.LIMIT
    assert processor.pc == 0x100
    assert processor.r[10] == (1 if slots == 1 else 3)


def test_scc_and_bit_count_may_jump_too():
    processor = machine(encode(SPECIAL, function=1, rd=Reg.PC, rs1=20), NOP)
    processor.r[20] = 0b1111
    processor.run(2)
    assert processor.pc == 4
    processor = machine(encode(SCC, rd=Reg.PC, cond=1), NOP)
    processor.run(2)
    assert processor.pc == 0


def test_reading_pc_gives_the_reader():
    processor = machine(
        encode(BR, target=0x100),
        encode(RI, rd=15, rs1=Reg.PC, imm=0x10),
    )
    processor.write(0x100, encode(RM, store=1, rd=Reg.PC, rs1=20).to_bytes(4, "big"))
    processor.r[20] = 0x400
    processor.run(3)
    assert processor.r[15] == 0x14
    assert processor.memory.read(0x400, 4) == (0x100).to_bytes(4, "big")


def test_call_and_return_as_compiled():
    """The call and return sequences that LLVM emits, and no others."""
    words = {
        0x00: 0x07880010, 0x04: 0x9793FFFC, 0x08: encode(BR, target=0x40), 0x0C: NOP, 0x10: add(8, 100),
        0x40: 0x9293FFFC, 0x44: 0x02900008, 0x48: 0x22100008, 0x4C: add(8, 5), 0x50: 0x8116FFFC, 0x54: 0x02140000,
        0x58: 0x8296FFF8,
    }  # fmt: skip
    processor = machine(at=0)
    for address, word in words.items():
        processor.write(address, word.to_bytes(4, "big"))
    processor.r[Reg.SP], processor.r[Reg.FP] = 0x8000, 0x1234
    assert processor.run(12) is Stop.LIMIT
    assert processor.pc == 0x14
    assert (processor.r[8], processor.r[Reg.SP], processor.r[Reg.FP]) == (105, 0x8000, 0x1234)


def trap_of(processor, steps=10):
    assert processor.run(steps) is Stop.TRAP
    assert processor.run(1) is Stop.TRAP
    return processor.trap.cause, processor.trap.pc


TRAPS = {
    "undefined": ([0xC60C4F20], TrapCause.UNDEFINED, 0),
    "word": ([encode(RM, rd=20, rs1=0, pre=1, imm=2)], TrapCause.MISALIGNED, 0),
    "half": ([NOP, encode(SPLS, rd=20, rs1=0, pre=1, imm=1)], TrapCause.MISALIGNED, 4),
    "store": ([NOP, encode(SPLS, store=1, rd=20, rs1=0, pre=1, imm=1)], TrapCause.MISALIGNED, 4),
    "beyond": ([encode(SLS, rd=20, address=0x100000)], TrapCause.UNMAPPED, 0),
    "below": ([encode(RM, store=1, rd=20, rs1=0, pre=1, imm=-4)], TrapCause.UNMAPPED, 0),
    "register byte": ([encode(RRM, rd=20, rs1=21, access=4)], TrapCause.REGISTER_SIZE, 0),
    "register half store": ([encode(SPLS, store=1, rd=20, rs1=21)], TrapCause.REGISTER_SIZE, 0),
    "register misaligned half": ([encode(SPLS, rd=20, rs1=21, pre=1, imm=1)], TrapCause.MISALIGNED, 0),
    "fetch misaligned": ([encode(SLI, rd=2, imm=6), NOP], TrapCause.FETCH_MISALIGNED, 6),
    "fetch registers": ([encode(BR, target=M.REGISTERS_LOCAL), NOP], TrapCause.FETCH_UNMAPPED, M.REGISTERS_LOCAL),
    "branch in slot": ([encode(BR, target=8), encode(BR, target=8)], TrapCause.TRANSFER_IN_SLOT, 4),
    "branch in second slot": ([encode(RM, rd=2, rs1=0), NOP, encode(BR, target=8)], TrapCause.TRANSFER_IN_SLOT, 8),
    "bad load to pc in slot": (
        [encode(BR, target=8), encode(RM, rd=2, rs1=0, pre=1, imm=1)],
        TrapCause.TRANSFER_IN_SLOT,
        4,
    ),
    "load to pc in slot": (
        [encode(BR, target=8), encode(RM, rd=2, rs1=21, update=1, imm=4)],
        TrapCause.TRANSFER_IN_SLOT,
        4,
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps(name):
    words, cause, pc = TRAPS[name]
    processor = machine(*words)
    processor.r[21] = M.REGISTERS_LOCAL
    assert trap_of(processor) == (cause, pc)
    assert processor.r[20] == 0
    assert processor.r[21] == M.REGISTERS_LOCAL
    assert f"{pc:#07x}" in str(processor.trap)


def test_trap_leaves_no_trace():
    """Base update and flags of an instruction that traps are undone, in the fast and the slow
    case."""
    processor = machine(encode(RM, rd=20, rs1=21, update=1, imm=4))
    processor.r[21] = 3
    trap_of(processor)
    assert processor.r[21] == 3
    processor = machine(encode(BR, target=8), encode(RI, op=AluOp.SUB, flags=1, rd=2, rs1=0, imm=8))
    before = list(processor.f)
    trap_of(processor)
    assert processor.f == before
    assert processor.retired == 1


def test_untaken_branch_may_stand_in_a_slot():
    processor = machine(encode(BR, target=0x100), encode(BR, cond=1, target=0x200))
    assert processor.run(2) is Stop.LIMIT
    assert processor.pc == 0x100


def test_registers_and_wait():
    isr, wait = M.local_address("ISR"), M.local_address("WAIT")
    processor = machine(
        encode(SLI, rd=20, imm=5),
        encode(SLS, store=1, rd=20, address=wait),
        encode(SLS, rd=21, address=isr),
        encode(SLS, store=1, rd=20, address=wait),
        NOP,
    )
    assert processor.run(100) is Stop.WAIT
    assert (processor.pc, processor.retired) == (8, 2)
    assert processor.run(100) is Stop.WAIT, "a stalled processor stays stalled"
    assert processor.retired == 2
    processor.registers.write(M.offset("ISR"), 4)
    processor.wake()
    assert processor.run(3) is Stop.LIMIT, "an event that is already there does not stall"
    assert (processor.r[21], processor.pc) == (4, 20)


def test_wait_in_a_delay_slot_resumes_at_the_target():
    processor = machine(encode(BR, target=0x100), encode(SLS, store=1, rd=1, address=M.local_address("WAIT")))
    assert processor.run(9) is Stop.WAIT
    processor.wake()
    assert processor.pc == 0x100


def test_stores_change_code():
    """A loop that rewrites its own next instruction must see the new one."""
    processor = machine(
        encode(RM, store=1, rd=20, rs1=0, pre=1, imm=8),
        NOP,
        add(10, 1),
        encode(BR, target=0),
        NOP,
    )
    processor.run(1)
    processor.reset()
    processor.write(8, add(10, 1).to_bytes(4, "big"))
    processor.r[20] = add(10, 1)
    processor.run(5)
    processor.r[20] = add(11, 1)
    processor.run(5)
    assert processor.r[10:12] == [1, 1]
    byte = machine(
        encode(SPLS, store=1, byte=1, rd=20, rs1=0, pre=1, imm=11), NOP, add(10, 1), encode(BR, target=0), NOP
    )
    byte.r[20] = 7
    byte.run(5)
    assert byte.r[10] == 7


def test_breakpoints():
    processor = machine(NOP, NOP, NOP)
    processor.add_breakpoint(8)
    assert processor.run(10) is Stop.BREAKPOINT
    assert (processor.pc, processor.retired) == (8, 2)
    processor.remove_breakpoint(8)
    assert processor.run(1) is Stop.LIMIT


def test_absolute_addresses_ignore_their_low_bits():
    processor = machine(encode(SLS, rd=20, address=0x1003))
    processor.write(0x1000, b"\x01\x02\x03\x04")
    processor.step()
    assert processor.r[20] == 0x01020304


def test_memory_speaks_big_endian_bytes():
    memory = Memory(16)
    memory.write(3, b"\x01\x02\x03\x04\x05\x06")
    assert memory.read(0, 12).hex() == "000000010203040506000000"
    assert memory.words[1] == 0x02030405
    with pytest.raises(UserError, match=r"0xe\.\.0x12 are outside the SRAM of 0x10"):
        memory.read(14, 4)
    with pytest.raises(UserError, match="SRAM size 6"):
        Memory(6)


def test_shift_amounts_beyond_31_use_five_bits():
    processor = machine(encode(RR, op=AluOp.SHIFT, special=Special.LOGICAL, rd=20, rs1=21, rs2=22))
    processor.r[21:23] = [0xF0, 33]
    processor.step()
    assert processor.r[20] == 0x1E0
