"""Integers of the language under CPython."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_firmware.lang import FirmwareError, i32, maximum, minimum, popcount, u8, u16, u32
from lanai_firmware.lang.functions import typed_range

words = st.integers(0, 0xFFFFFFFF)
OPERATORS = [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor]


@given(words, words, st.sampled_from(OPERATORS))
def test_arithmetic_wraps(a, b, function):
    assert int(function(u32(a), u32(b))) == function(a, b) & 0xFFFFFFFF
    signed = int(function(i32(a), i32(b))) & 0xFFFFFFFF
    assert signed == function(a, b) & 0xFFFFFFFF


@given(words, st.integers(0, 100))
def test_shift_amounts_count_modulo_32(a, n):
    assert u32(a) << n == (a << (n % 32)) & 0xFFFFFFFF
    assert i32(a) >> n == int(i32(a)) >> (n % 32)


@pytest.mark.parametrize("kind", [u8, u16])
def test_narrow_types_compute_as_u32(kind):
    assert type(kind(255) + 1) is u32
    assert kind(0) - 1 == 0xFFFFFFFF
    assert kind(0x1FFFF) == (1 << kind.bits) - 1


def test_literals_take_the_other_type():
    assert type(3 - u32(5)) is u32
    assert 3 - u32(5) == 0xFFFFFFFE
    assert type(i32(5) - 8) is i32


@pytest.mark.parametrize("function", [*OPERATORS, operator.eq, operator.lt, operator.floordiv])
def test_signs_do_not_mix(function):
    with pytest.raises(FirmwareError, match="mixes u32 and i32; convert one"):
        function(u32(1), i32(1))


@pytest.mark.parametrize(
    ("operation", "kind", "literal"),
    [
        (lambda: u32(5) == -1, "u32", -1),
        (lambda: u32(9) // -3, "u32", -3),
        (lambda: u32(10) % -3, "u32", -3),
        (lambda: i32(9) // 0xFFFFFFFF, "i32", 0xFFFFFFFF),
        (lambda: -16 >> u32(2), "u32", -16),
        (lambda: u8(3) + (1 << 32), "u32", 1 << 32),
        (lambda: minimum(i32(1), 0x80000000), "i32", 0x80000000),
        (lambda: typed_range(u32(3), -1, -1), "u32", -1),
        (lambda: typed_range(-1, 0xFFFFFFFF), "i32", 0xFFFFFFFF),
    ],
)
def test_literals_must_fit_the_other_operand(operation, kind, literal):
    with pytest.raises(FirmwareError, match=f"of {kind} and {literal}, which {kind} does not hold; write {kind}"):
        operation()


def test_literals_of_masks_are_patterns():
    assert u32(0xFF) & ~3 == 0xFC
    assert i32(-1) ^ 0xFFFFFFFF == 0
    with pytest.raises(FirmwareError, match="`&` of u32 and 4294967296"):
        u32(1) & (1 << 32)


@pytest.mark.parametrize("value", [1.5, float("nan")])
def test_floats_are_refused(value):
    with pytest.raises(FirmwareError, match="has no floats; scale"):
        u32(value)


def test_true_division_is_refused():
    with pytest.raises(FirmwareError, match="write `//`"):
        u32(5) / 2


def test_division_rounds_down():
    assert i32(-7) // 2 == -4
    assert i32(-7) % 2 == 1
    assert i32(-0x80000000) // -1 == -0x80000000


def test_bit_counts_and_extremes():
    assert popcount(0xF0F0) == 8
    assert type(minimum(u32(7), 3)) is u32
    assert maximum(i32(-7), 3) == 3
    with pytest.raises(FirmwareError, match="two literals"):
        minimum(3, 5)
