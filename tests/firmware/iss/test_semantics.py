"""The effects of single instructions, against the rules of lanai_hdl.isa written out once more as
arithmetic."""

import random

import pytest

from lanai_firmware.iss import Memory, Processor, Stop
from lanai_hdl.isa import Access, AluOp, Condition, Function, Reg, Special, TrapCause, encode
from lanai_hdl.isa.formats import BR, BRR, RI, RM, RR, RRM, SCC, SLI, SLS, SPECIAL, SPLS

MASK = 0xFFFFFFFF
CORNERS = (0, 1, 2, 31, 32, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFE1, 0xFFFFFFE0, 0x12345678)


def machine(*words, size=0x2000, at=0):
    processor = Processor(Memory(size))
    processor.write(at, b"".join(word.to_bytes(4, "big") for word in words))
    processor.pc = at
    return processor


def signed(value):
    return value - (value >> 31 << 32)


def reference(op, kind, a, b, carry, immediate):
    """Result, Z, N, C, V; C is None where it keeps its value."""
    if op == AluOp.SHIFT:
        amount = signed(b)
        distance = abs(amount) & 31
        if amount >= 0:
            wide = a << distance
            result, c = wide & MASK, (wide >> 32) & 1
        else:
            result = ((signed(a) if kind == Special.ARITHMETIC else a) >> distance) & MASK
            c = 0
        return result, result == 0, result >> 31, c, 0
    if op.arithmetic:
        addend = b ^ MASK if op in (AluOp.SUB, AluOp.SUBB) else b
        cin = {AluOp.ADD: 0, AluOp.ADDC: carry, AluOp.SUB: 1, AluOp.SUBB: carry}[op]
        total, exact = a + addend + cin, signed(a) + signed(addend) + cin
        result = total & MASK
        return result, result == 0, result >> 31, total >> 32, int(signed(result) != exact)
    result = {AluOp.AND: a & b, AluOp.OR: a | b, AluOp.XOR: a ^ b}[op]
    return result, result == 0, result >> 31, 0 if immediate else None, 0


OPERATIONS = [(op, Special.PLAIN) for op in list(AluOp)[: AluOp.SHIFT]]
OPERATIONS += [(AluOp.SHIFT, Special.LOGICAL), (AluOp.SHIFT, Special.ARITHMETIC)]


@pytest.mark.parametrize(("op", "kind"), OPERATIONS)
def test_alu_register_register(op, kind):
    for flags in (0, 1):
        processor = machine(encode(RR, op=op, special=kind, flags=flags, rd=20, rs1=21, rs2=22))
        for a in CORNERS:
            for b in CORNERS:
                for carry in (0, 1):
                    processor.reset()
                    processor.r[21], processor.r[22] = a, b
                    processor.f[:] = [7, carry, 1]
                    assert processor.step() is Stop.LIMIT
                    result, z, n, c, v = reference(op, kind, a, b, carry, False)
                    assert processor.r[20] == result, (op, hex(a), hex(b))
                    kept = (0, 0, carry, 1)
                    assert processor.flags == ((z, n, carry if c is None else c, v) if flags else kept)


@pytest.mark.parametrize("op", AluOp)
@pytest.mark.parametrize("high", [0, 1])
def test_alu_register_immediate(op, high):
    for imm in (0, 1, 5, 0x7FFF, 0x8000, 0xFFFF, 0xFFFB, 0xFFE0, 0x1234):
        if op == AluOp.SHIFT:
            b = imm | (0xFFFF0000 if imm & 0x8000 else 0)
        elif op == AluOp.AND:
            b = imm << 16 | 0xFFFF if high else 0xFFFF0000 | imm
        else:
            b = imm << 16 if high else imm
        processor = machine(encode(RI, op=op, flags=1, high=high, imm=imm, rd=20, rs1=21))
        for a in CORNERS:
            for carry in (0, 1):
                processor.reset()
                processor.r[21] = a
                processor.f[:] = [7, carry, 1]
                processor.step()
                result, z, n, c, v = reference(op, Special.ARITHMETIC if high else Special.LOGICAL, a, b, carry, True)
                assert processor.r[20] == result
                assert processor.flags == (z, n, c, v)


@pytest.mark.parametrize("code", Condition)
def test_conditions_everywhere(code):
    for result, c, v in ((0, 0, 0), (0, 1, 1), (5, 0, 1), (5, 1, 0), (1 << 31, 0, 0), (1 << 31, 1, 1)):
        holds = code.holds(result == 0, bool(result >> 31), bool(c), bool(v))
        processor = machine(
            encode(SCC, cond=code, rd=20),
            encode(RR, op=AluOp.ADD, cond=code, rd=21, rs1=1, rs2=0),
            encode(RR, op=AluOp.SHIFT, cond=code, rd=22, rs1=23, rs2=24),
            encode(BR, cond=code, target=0x40),
            1,
        )
        processor.r[21:25] = [9, 0, 100, 200]
        processor.f[:] = [result, c, v]
        processor.run(5)
        assert processor.r[20] == holds
        assert processor.r[21] == (MASK if holds else 9)
        assert processor.r[22] == (100 if holds else 200)
        assert processor.pc == (0x40 if holds else 20)
        relative = machine(encode(BRR, cond=code, rs1=23, offset=-8), 1)
        relative.r[23] = 0x100
        relative.f[:] = [result, c, v]
        relative.run(2)
        assert relative.pc == (0xF8 if holds else 8)


def test_predicated_with_flags_takes_them_from_the_final_rd():
    processor = machine(encode(RR, op=AluOp.ADD, flags=1, cond=Condition.F, rd=20, rs1=1, rs2=1))
    for value in (0, 1, 0x80000000):
        processor.reset()
        processor.r[20] = value
        processor.f[:] = [3, 1, 1]
        processor.step()
        assert processor.r[20] == value
        assert processor.flags == (value == 0, value >> 31, 1, 1)


def test_bit_counts():
    for value in (*CORNERS, 0xF0, 1 << 20):
        text = f"{value:032b}"
        expected = {
            Function.POPC: text.count("1"),
            Function.LEADZ: len(text) - len(text.lstrip("0")),
            Function.TRAILZ: len(text) - len(text.rstrip("0")),
        }
        for function, count in expected.items():
            processor = machine(encode(SPECIAL, function=function, rd=20, rs1=21))
            processor.r[21] = value
            processor.step()
            assert processor.r[20] == count


def test_constant_registers():
    processor = machine(
        encode(SLI, rd=Reg.ZERO, imm=5),
        encode(SLI, rd=Reg.ONES, imm=5),
        encode(RR, op=AluOp.ADD, rd=20, rs1=Reg.ZERO, rs2=Reg.ONES),
        encode(RM, rd=Reg.ONES, rs1=Reg.ONES, update=1, pre=1, imm=1),
        encode(SLI, rd=21, imm=0x1FFFFF),
    )
    assert processor.run(5) is Stop.LIMIT
    assert (processor.r[0], processor.r[1], processor.r[20], processor.r[21]) == (0, MASK, MASK, 0x1FFFFF)


ACCESSES = [
    (Access.WORD, 4, 0x81828384), (Access.HALF, 2, 0xFFFF8182), (Access.UHALF, 2, 0x8182), (Access.BYTE, 1, 0xFFFFFF81),
    (Access.UBYTE, 1, 0x81),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "size", "value"), ACCESSES)
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_loads_in_all_modes(kind, size, value, mode):
    pre, update = mode >> 1, mode & 1
    words = [encode(RRM, rd=20, rs1=21, rs2=22, pre=pre, update=update, op=AluOp.SUB, access=kind)]
    if kind == Access.WORD:
        words.append(encode(RM, rd=20, rs1=21, pre=pre, update=update, imm=-8))
    else:
        words.append(encode(SPLS, rd=20, rs1=21, pre=pre, update=update, imm=-8, byte=size == 1, zero=not kind.signed))
    for word in words:
        processor = machine(word)
        processor.write(0x1008 if not pre else 0x1000, bytes.fromhex("81828384"))
        processor.r[20:23] = [0, 0x1008, 8]
        assert processor.step() is Stop.LIMIT
        assert processor.r[20] == value
        assert processor.r[21] == (0x1000 if update else 0x1008)


@pytest.mark.parametrize(("kind", "size"), [(Access.WORD, 4), (Access.HALF, 2), (Access.BYTE, 1)])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_stores_in_all_modes(kind, size, mode):
    pre, update = mode >> 1, mode & 1
    words = [encode(RRM, store=1, rd=20, rs1=21, rs2=22, pre=pre, update=update, op=AluOp.OR, access=kind)]
    if kind == Access.WORD:
        words.append(encode(RM, store=1, rd=20, rs1=21, pre=pre, update=update, imm=8))
    else:
        words.append(encode(SPLS, store=1, rd=20, rs1=21, pre=pre, update=update, imm=8, byte=size == 1))
    for word in words:
        processor = machine(word)
        processor.write(0x1000, b"\xaa" * 16)
        processor.r[20:23] = [0x11223344, 0x1000, 8]
        assert processor.step() is Stop.LIMIT
        place = 8 if pre else 0
        expected = bytearray(b"\xaa" * 16)
        expected[place : place + size] = bytes.fromhex("11223344")[4 - size :]
        assert processor.memory.read(0x1000, 16) == expected
        assert processor.r[21] == (0x1008 if update else 0x1000)


def test_load_wins_over_update_and_store_takes_the_old_base():
    processor = machine(
        encode(RM, rd=20, rs1=20, update=1, imm=4),
        encode(RM, store=1, rd=21, rs1=21, pre=1, update=1, imm=-4),
    )
    processor.write(0x1000, bytes.fromhex("cafef00d"))
    processor.r[20:22] = [0x1000, 0x1010]
    processor.run(2)
    assert processor.r[20] == 0xCAFEF00D
    assert processor.r[21] == 0x100C
    assert processor.memory.read(0x100C, 4) == (0x1010).to_bytes(4, "big")


def test_shifted_and_absolute_addresses():
    processor = machine(
        encode(RRM, rd=20, rs1=21, rs2=22, pre=1, op=AluOp.SHIFT, special=Special.LOGICAL, access=Access.WORD),
        encode(SLS, store=1, rd=20, address=0x1FFC),
        encode(SLS, rd=23, address=0x1FFC),
    )
    processor.write(0x1000, bytes.fromhex("01020304"))
    processor.r[21:23] = [0x400, 2]
    processor.run(3)
    assert processor.r[20] == processor.r[23] == 0x01020304
    assert processor.memory.read(0x1FFC, 4) == bytes.fromhex("01020304")


def test_random_encodings_run_or_trap():
    """Whatever the word, the model either retires it or stops with a cause; it never raises
    anything else."""
    rng = random.Random(3)
    processor = machine()
    undefined = 0
    for _ in range(20_000):
        processor.reset()
        processor.write(0, rng.getrandbits(32).to_bytes(4, "big"))
        processor.r[3:32] = [rng.getrandbits(12) for _ in range(29)]
        stop = processor.step()
        assert stop in (Stop.LIMIT, Stop.TRAP)
        undefined += stop is Stop.TRAP and processor.trap.cause is TrapCause.UNDEFINED
    assert undefined > 1000
