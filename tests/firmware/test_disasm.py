"""The disassembler against LLVM's spelling."""

import random

import pytest

from lanai_firmware.disasm import disassemble, listing
from lanai_hdl.isa import decode

TEXTS = [
    (0x00000001, "nop"),
    (0xC60C4800, "add %r3, %r9, %r12"),
    (0xC60C4803, "add.ne %r3, %r9, %r12"),
    (0xC60D4E06, "xor.lt %r3, %r9, %r12"),
    (0xC60E4B00, "subb.f %r3, %r9, %r12"),
    (0xC60C4FC2, "sha.ult %r3, %r9, %r12"),
    (0xC60D4F03, "sel.eq %r3, %r9, %r12"),
    (0x260C1234, "sub %r3, 0x1234, %r12"),
    (0x460C1234, "and %r3, 0xffff1234, %r12"),
    (0x460D1234, "and %r3, 0x1234ffff, %r12"),
    (0x760CFFFB, "sh %r3, -5, %r12"),
    (0x760DFFFB, "sha %r3, -5, %r12"),
    (0x860EFFF8, "ld -8[%r3], %r12"),
    (0x860F0008, "ld 8[*%r3], %r12"),
    (0x860D0008, "ld 8[%r3*], %r12"),
    (0x9613FFFC, "st %r12, [--%sp]"),
    (0xA60E4802, "ld [%r3 add %r9], %r12"),
    (0xA60E4801, "uld.h [%r3 add %r9], %r12"),
    (0xA60E4804, "ld.b [%r3 add %r9], %r12"),
    (0xA60E4F82, "ld [%r3 sh %r9], %r12"),
    (0xB60E4E04, "st.b %r12, [%r3 xor %r9]"),
    (0xF60F0802, "ld.h 2[%r3], %r12"),
    (0xF60F4BFF, "ld.b -1[%r3], %r12"),
    (0xF60F5C01, "uld.b [++%r3], %r12"),
    (0xF60F5401, "uld.b [%r3++], %r12"),
    (0xF60F6BFD, "st.b %r12, -3[%r3]"),
    (0xF6042344, "ld [0x12344], %r12"),
    (0xF6052344, "st %r12, [0x12344]"),
    (0xF1861170, "mov 0x11170, %r3"),
    (0xE6300003, "seq %r12"),
    (0xE4300002, "sult %r12"),
    (0xE0001000, "bt 0x1000"),
    (0xE2001000, "bugt 0x1000"),
    (0xC1006500, "bt %r12"),
    (0xD60C0001, "popc %r3, %r12"),
    (0x9293FFFC, "st %fp, [--%sp]"),
    (0x8116FFFC, "ld -4[%fp], %pc"),
    (0xC60C4F20, ".word 0xc60c4f20"),
]


@pytest.mark.parametrize(("word", "text"), TEXTS)
def test_spelling(word, text):
    assert disassemble(word) == text


def test_different_instructions_read_differently():
    """Text says everything: no two defined words share one. Random pairs that differ in one bit are
    the hard ones.

    Constants 0 and all ones read the same in either half of an RI instruction.
    """
    rng = random.Random(5)
    for _ in range(20_000):
        word = rng.getrandbits(32)
        other = word ^ 1 << rng.randrange(32)
        a, b = decode(word), decode(other)
        if a and b and not (a.format.name == "RI" and a["imm"] in (0, 0xFFFF)):
            assert disassemble(word) != disassemble(other), (hex(word), hex(other))


def test_listing_names_labels():
    code = bytes.fromhex("e0001000 00000001")
    assert list(listing(code, 0x1000, {"main": 0x1000, "f": 0x1004})) == [
        "main:",
        "001000: e0001000  bt main",
        "f:",
        "001004: 00000001  nop",
    ]
