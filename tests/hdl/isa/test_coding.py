"""The declaration against known encodings, and against itself."""

import random

import pytest
from amaranth import Module, Signal

from lanai_hdl.bfm import simulator
from lanai_hdl.isa import FORMATS, NOP, Access, AluOp, Condition, Function, Reg, Special, decode, encode
from lanai_hdl.isa.coding import extract, format_of, insert
from lanai_hdl.isa.formats import BR, RI, RM, RR, RRM, SCC, SLI, SLS, SPECIAL, SPLS
from lanai_hdl.isa.gates import field_value, has_format, is_defined
from lanai_hdl.isa.relocations import Relocation, relocate

# Words that LLVM's assembler gives.
VECTORS = [
    ("add %r3, %r9, %r12", 0xC60C4800, RR, {"rd": 12, "rs1": 3, "rs2": 9}),
    ("add.ne", 0xC60C4803, RR, {"rd": 12, "rs1": 3, "rs2": 9, "cond": Condition.NE}),
    ("xor.lt", 0xC60D4E06, RR, {"rd": 12, "rs1": 3, "rs2": 9, "op": AluOp.XOR, "cond": Condition.LT}),
    ("subb.f", 0xC60E4B00, RR, {"rd": 12, "rs1": 3, "rs2": 9, "op": AluOp.SUBB, "flags": 1}),
    (
        "sha.ult", 0xC60C4FC2, RR,
        {"rd": 12, "rs1": 3, "rs2": 9, "op": AluOp.SHIFT, "special": Special.ARITHMETIC, "cond": Condition.CC},
    ),
    ("sel.eq", 0xC60D4F03, RR, {"rd": 12, "rs1": 3, "rs2": 9, "op": AluOp.SHIFT, "cond": Condition.EQ}),
    ("bt %r12", 0xC1006500, RR, {"rd": Reg.PC, "rs2": 12, "op": AluOp.OR}),
    ("sub %r3, 0x1234, %r12", 0x260C1234, RI, {"op": AluOp.SUB, "rd": 12, "rs1": 3, "imm": 0x1234}),
    ("and %r3, 0xffff1234, %r12", 0x460C1234, RI, {"op": AluOp.AND, "rd": 12, "rs1": 3, "imm": 0x1234}),
    ("and %r3, 0x1234ffff, %r12", 0x460D1234, RI, {"op": AluOp.AND, "rd": 12, "rs1": 3, "imm": 0x1234, "high": 1}),
    ("sh %r3, -5, %r12", 0x760CFFFB, RI, {"op": AluOp.SHIFT, "rd": 12, "rs1": 3, "imm": 0xFFFB}),
    ("sha %r3, -5, %r12", 0x760DFFFB, RI, {"op": AluOp.SHIFT, "rd": 12, "rs1": 3, "imm": 0xFFFB, "high": 1}),
    ("add %pc, 0x10, %rca", 0x07880010, RI, {"rd": Reg.RCA, "rs1": Reg.PC, "imm": 0x10}),
    ("nop", NOP, RI, {"imm": 1}),
    ("ld -8[%r3], %r12", 0x860EFFF8, RM, {"rd": 12, "rs1": 3, "pre": 1, "imm": -8}),
    ("ld 8[*%r3], %r12", 0x860F0008, RM, {"rd": 12, "rs1": 3, "pre": 1, "update": 1, "imm": 8}),
    ("ld 8[%r3*], %r12", 0x860D0008, RM, {"rd": 12, "rs1": 3, "update": 1, "imm": 8}),
    ("st %r12, [--%sp]", 0x9613FFFC, RM, {"store": 1, "rd": 12, "rs1": Reg.SP, "pre": 1, "update": 1, "imm": -4}),
    ("ld [%r3 add %r9], %r12", 0xA60E4802, RRM, {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "access": Access.WORD}),
    ("ld.h", 0xA60E4800, RRM, {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "access": Access.HALF}),
    ("uld.h", 0xA60E4801, RRM, {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "access": Access.UHALF}),
    ("ld.b", 0xA60E4804, RRM, {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "access": Access.BYTE}),
    ("uld.b", 0xA60E4805, RRM, {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "access": Access.UBYTE}),
    ("ld [%r3 sub %r9]", 0xA60E4A02, RRM, {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "op": AluOp.SUB,
     "access": Access.WORD}),
    (
        "ld [%r3 sh %r9]", 0xA60E4F82, RRM,
        {"rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "op": AluOp.SHIFT, "special": Special.LOGICAL, "access": Access.WORD},
    ),
    ("st.b [%r3 xor %r9]", 0xB60E4E04, RRM, {"store": 1, "rd": 12, "rs1": 3, "rs2": 9, "pre": 1, "op": AluOp.XOR,
     "access": Access.BYTE}),
    ("ld.h 2[%r3], %r12", 0xF60F0802, SPLS, {"rd": 12, "rs1": 3, "pre": 1, "imm": 2}),
    ("uld.h 2[%r3], %r12", 0xF60F1802, SPLS, {"rd": 12, "rs1": 3, "pre": 1, "imm": 2, "zero": 1}),
    ("ld.b -1[%r3], %r12", 0xF60F4BFF, SPLS, {"rd": 12, "rs1": 3, "pre": 1, "imm": -1, "byte": 1}),
    ("uld.b [++%r3], %r12", 0xF60F5C01, SPLS, {"rd": 12, "rs1": 3, "pre": 1, "update": 1, "imm": 1, "byte": 1,
     "zero": 1}),
    ("uld.b [%r3++], %r12", 0xF60F5401, SPLS, {"rd": 12, "rs1": 3, "update": 1, "imm": 1, "byte": 1, "zero": 1}),
    ("st.h %r12, 2[%r3]", 0xF60F2802, SPLS, {"rd": 12, "rs1": 3, "pre": 1, "imm": 2, "store": 1}),
    ("st.b %r12, -3[%r3]", 0xF60F6BFD, SPLS, {"rd": 12, "rs1": 3, "pre": 1, "imm": -3, "store": 1, "byte": 1}),
    ("ld [0x12344], %r12", 0xF6042344, SLS, {"rd": 12, "address": 0x12344}),
    ("st %r12, [0x12344]", 0xF6052344, SLS, {"rd": 12, "address": 0x12344, "store": 1}),
    ("mov 0x11170, %r3", 0xF1861170, SLI, {"rd": 3, "imm": 0x11170}),
    ("seq %r12", 0xE6300003, SCC, {"rd": 12, "cond": Condition.EQ}),
    ("sult %r12", 0xE4300002, SCC, {"rd": 12, "cond": Condition.CC}),
    ("bt 0x1000", 0xE0001000, BR, {"target": 0x1000}),
    ("beq 0x1000", 0xE6001001, BR, {"target": 0x1000, "cond": Condition.EQ}),
    ("bugt 0x1000", 0xE2001000, BR, {"target": 0x1000, "cond": Condition.HI}),
    ("blt 0x1000", 0xEC001001, BR, {"target": 0x1000, "cond": Condition.LT}),
    ("ble 0x1000", 0xEE001001, BR, {"target": 0x1000, "cond": Condition.LE}),
    ("popc %r3, %r12", 0xD60C0001, SPECIAL, {"rd": 12, "rs1": 3, "function": Function.POPC}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "word", "item", "values"), VECTORS, ids=[v[0] for v in VECTORS])
def test_known_encodings(text, word, item, values):
    assert encode(item, **values) == word
    decoded = decode(word)
    assert decoded.format is item
    assert dict(decoded.values) == {name: values.get(name, 0) for name in item.by_name}


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (0xC60C4F20, "RR shift of an unknown kind"),
        (0xC60C4801 | 1 << 3, "RR add with special bits"),
        (0xC60E4F03, "select with F"),
        (0xD60C0000, "SPECIAL 0"),
        (0xD60E0001, "SPECIAL with F"),
        (0xF60F8000, "1111 with bit 15, once PUNT"),
        (0xA60E4803, "word load that extends"),
        (0xB60E4805, "store that extends"),
        (0xA60E4F80, "half at a shifted address"),
        (0xE6B00003, "SCC with a reserved bit"),
        (0x8409FFFC & ~(31 << 18) | 2 << 18, "update of pc"),
    ],
)
def test_undefined_encodings(word, why):
    assert decode(word) is None, why


def test_formats_do_not_overlap():
    for i, a in enumerate(FORMATS):
        for b in FORMATS[:i]:
            assert (a.match ^ b.match) & a.mask & b.mask, f"{a.name} and {b.name} overlap"


def test_defined_words_have_one_encoding():
    rng = random.Random(1)
    found = 0
    for _ in range(20_000):
        word = rng.getrandbits(32)
        decoded = decode(word)
        if decoded is not None:
            found += 1
            assert encode(decoded.format, **decoded.values) == word
    assert found > 5_000


def test_errors_quote_the_value():
    with pytest.raises(ValueError, match=r"imm cannot hold 65536; it takes 0\.\.65535"):
        encode(RI, imm=0x10000)
    with pytest.raises(ValueError, match=r"target cannot hold 6; it takes .* in steps of 4"):
        encode(BR, target=6)
    with pytest.raises(ValueError, match="RM has no field 'rs2'"):
        encode(RM, rs2=1)
    with pytest.raises(ValueError, match="RR is undefined for"):
        encode(RR, op=AluOp.SHIFT, special=1)


def test_fields_round_trip_at_their_ends():
    for item in FORMATS:
        for part in item.fields:
            low, high = (
                (-(1 << part.width - 1), (1 << part.width - 1) - 1) if part.signed else (0, (1 << part.width) - 1)
            )
            for value in (low, high, 0):
                assert extract(part, insert(part, value << part.scale)) == value << part.scale


def test_conditions_are_what_their_names_say():
    for a, b in ((5, 3), (3, 5), (4, 4), (0x80000000, 1), (1, 0x80000000), (0, 0xFFFFFFFF)):
        diff = a + (b ^ 0xFFFFFFFF) + 1
        result, c = diff & 0xFFFFFFFF, bool(diff >> 32)
        n, v = bool(result >> 31), bool((a ^ b) & (a ^ result) & 0x80000000)
        sa, sb = a - (a >> 31 << 32), b - (b >> 31 << 32)
        unsigned = (True, False, a > b, a <= b, a < b, a >= b, a != b, a == b)
        signed = (not v, v, not n, n, sa >= sb, sa < sb, sa > sb, sa <= sb)
        for code, expected in zip(Condition, unsigned + signed, strict=True):
            assert code.holds(result == 0, n, c, v) == expected, (code, a, b)


def test_relocations():
    assert relocate(Relocation.LANAI_21, 0xF1820000, 0x11170) == 0xF1861170
    assert relocate(Relocation.LANAI_25, 0xE6000001, 0x1000) == 0xE6001001
    assert relocate(Relocation.LANAI_HI16, 0x01810000, 0x12345678) == 0x01811234
    assert relocate(Relocation.LANAI_LO16, 0x518C0000, 0x12345678) == 0x518C5678
    assert relocate(Relocation.LANAI_32, 0, 0xDEADBEEF) == 0xDEADBEEF
    with pytest.raises(ValueError, match="0x200000 does not fit 21 bits"):
        relocate(Relocation.LANAI_21, 0, 0x200000)
    with pytest.raises(ValueError, match="0x1002 is not a multiple of 4"):
        relocate(Relocation.LANAI_25, 0, 0x1002)


def test_gates_agree_with_the_data():
    word = Signal(32)
    m = Module()
    formats = {item.name: Signal(name=f"is_{item.name}") for item in FORMATS}
    defined = {item.name: Signal(name=f"defined_{item.name}") for item in FORMATS}
    values = {}
    for item in FORMATS:
        m.d.comb += formats[item.name].eq(has_format(item, word))
        m.d.comb += defined[item.name].eq(is_defined(item, word))
        for part in item.fields:
            value = field_value(part, word)
            values[item.name, part.name] = Signal(value.shape(), name=f"{item.name}_{part.name}")
            m.d.comb += values[item.name, part.name].eq(value)
    rng = random.Random(2)
    words = [v[1] for v in VECTORS]
    for _ in range(400):
        words.append(rng.getrandbits(32))
        item = rng.choice(FORMATS)
        words.append(rng.getrandbits(32) & ~item.mask | item.match)

    async def bench(ctx):
        for w in words:
            ctx.set(word, w)
            found, decoded = format_of(w), decode(w)
            for item in FORMATS:
                assert ctx.get(formats[item.name]) == (item is found)
                assert ctx.get(defined[item.name]) == (decoded is not None and item is found)
            if found:
                for part in found.fields:
                    assert ctx.get(values[found.name, part.name]) == extract(part, w), (found.name, part.name, hex(w))

    sim = simulator(m)
    sim.add_testbench(bench)
    sim.run()
