"""Structs, pointers, arrays, globals and registers under CPython."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_firmware.compiler import CompileError
from lanai_firmware.lang import (
    FirmwareError,
    Machine,
    PlainRegisters,
    i32,
    maximum,
    minimum,
    offset_of,
    popcount,
    sizeof,
    u8,
    u16,
    u32,
)
from lanai_firmware.lang.functions import typed_range
from lanai_firmware.native import NativeProgram

TEXT = """
    class Inner(Struct):
        low: u8
        high: u16

    class Node(Struct):
        next: Ptr["Node"]
        flag: u8
        inner: Inner
        words: Array[u32, 3]
        sign: i32

    nodes: Global[Array[Node, 4]]
    first: Global[Node]
    STATUS = register(u32, 0xFF008)

    @firmware
    def link() -> Ptr[Node]:
        for i in range(len(nodes)):
            node = address_of(nodes[i])
            node.next = first.next
            node.words[2] = i * 3
            node.inner.high = u32(70000)
            first.next = node
        return first.next

    @firmware
    def poll(value: u32) -> u32:
        STATUS.store(value)
        return STATUS.load()

    @firmware
    def down(n: u32) -> u32:
        return u32(0) if n == 0 else down(n - 1)
"""


def test_layout_is_natural(module):
    m = module(TEXT)
    offsets = [offset_of(m.Node, name) for name in ("next", "flag", "inner", "words", "sign")]
    assert offsets == [0, 4, 6, 12, 24]
    assert sizeof(m.Node) == 28
    assert sizeof(m.Inner) == 4


def test_memory_is_big_endian(module):
    m = module(TEXT)
    with Machine() as machine:
        node = m.link()
        assert node.words[2] == 9
        assert node.inner.high == 70000 & 0xFFFF
        assert machine.sram[int(node) + 20 : int(node) + 24] == bytes([0, 0, 0, 9])
        assert node.next == m.address_of(m.nodes[2])
        assert int(node.next) + sizeof(m.Node) == int(node)


def test_symbols_place_globals(module):
    m = module(TEXT)
    name = m.__name__
    with Machine(symbols={f"{name}.nodes": 0x8000, f"{name}.first": 0x9000}) as machine:
        m.link()
        assert machine.sram[0x9000:0x9004] == (0x8000 + 3 * 28).to_bytes(4, "big")


def test_two_machines_share_nothing(module):
    m = module(TEXT)
    one, two = Machine(), Machine()
    with one:
        m.link()
    with two:
        assert not m.first.next


def test_registers_go_to_the_bus(module):
    m = module(TEXT)
    registers = PlainRegisters()
    with Machine(registers=registers):
        assert m.poll(77) == 77
    assert registers.values == {0xFF008: 77}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.first.next.flag, "member 'flag' through a null"),
        (lambda m: m.nodes[4], "index 4 is outside Array"),
        (lambda m: m.first.colour, "has no member 'colour'; it has next, flag"),
        (lambda m: setattr(m.first, "flag", m.first), "convert it: u8"),
        (lambda m: setattr(m.first, "next", m.cast(m.Inner, m.address_of(m.first))), "convert it: cast"),
        (lambda m: m.at(m.Ptr[m.u32], 2)[0], "misaligned access: load of 4 bytes at 0x2"),
        (lambda m: m.at(m.Ptr[m.u32], 0x200000)[0], "outside SRAM of 0x100000 bytes"),
        (lambda m: m.Node(), "makes no object"),
        (lambda m: m.down(3), "declared; write @firmware"),
        (lambda m: m.poll(1, 2), "takes 1 arguments, not 2"),
        (lambda m: m.poll(1.5), "convert it: u32"),
    ],
)
def test_misuse_is_named(module, act, message):
    m = module(TEXT)
    with Machine(), pytest.raises(FirmwareError, match=message):
        act(m)


def test_outside_a_machine(module):
    m = module(TEXT)
    with pytest.raises(FirmwareError, match="with Machine"):
        m.link()


def test_globals_that_do_not_fit(module):
    m = module("big: Global[Array[u32, 300000]]\n")
    with Machine(), pytest.raises(FirmwareError, match="1200000 bytes does not fit"):
        m.big[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class A(Struct):\n    a: float\n", "float is not a firmware type"),
        ("class A(Struct):\n    a: 'Missing'\n", "type 'Missing' is not known here"),
        ("class A(Struct):\n    a: u32 = 5\n", "members of a struct have types only"),
        ("class A(Struct):\n    pass\n", "has no members"),
        ("class A(Struct):\n    a: 'A'\n", "does not contain itself"),
    ],
)
def test_struct_declarations(module, text, message):
    m = module(text)
    with pytest.raises(FirmwareError, match=message):
        sizeof(m.A)


# Integers of the language under CPython.


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


# Arguments by name, and defaults: the same in the three ways of running.


CALLS = """
    from enum import IntEnum
    class Kind(IntEnum):
        SENT = 3
    log: Global[Array[u32, 4]]
    BIG: Const[u32] = u32(1000)
    @firmware
    def report(kind: u32, tag: u32 = 7, length: u8 = 5, error: u32 = Kind.SENT) -> u32:
        return kind * BIG + tag * 100 + length * 10 + error
    @firmware
    def note(x: u32) -> u32:
        log[0] = log[0] * 10 + x
        return x
    @inline
    def minus(left: i32, right: i32 = -2) -> i32:
        return left - right
    @firmware
    def main() -> u32:
        total = report(1) + report(2, length=300 - 299) + report(error=1, kind=2)
        total = total * 3 + report(tag=note(4), kind=note(2), error=note(1))
        total += u32(minus(5)) + u32(minus(right=i32(1), left=i32(9)))
        return total * 1000 + log[0]
"""


def test_three_ways(module, run_lanai):
    m = module(CALLS)
    with Machine():
        expected = int(m.main())
    parts = 1753 + 2713 + 2751
    assert expected == ((parts * 3 + 2451) + 7 + 8) * 1000 + 421
    assert int(NativeProgram(m.main, speed=1).run(Machine())) == expected
    assert run_lanai(m.main) == expected


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("helper()", "helper lacks the argument 'x'; it takes x, y"),
        ("helper(1, 2, 3)", "helper takes 2 arguments, not 3"),
        ("helper(1, z=2)", "helper has no parameter 'z'; it has x, y"),
        ("helper(1, x=2)", "helper is given 'x' twice; leave one out"),
        ("helper(x=u32(1), y=i32(1))", "i32 given for 'y' of helper, which is u32"),
    ],
)
def test_a_wrong_call_is_refused_in_both_ways(module, run_lanai, call, text):
    m = module(f"""
        @firmware
        def helper(x: u32, y: u32 = 3) -> u32:
            return x + y
        @firmware
        def main() -> u32:
            return {call}
    """)
    with Machine(), pytest.raises(FirmwareError) as python:
        m.main()
    assert text in str(python.value)
    with pytest.raises(CompileError) as compiled:
        run_lanai(m.main)
    assert text in str(compiled.value)


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("x: u8 = 300", "300 given for the default of 'x' of helper does not fit u8"),
        ("x: u32 = i32(3)", "i32 given for the default of 'x' of helper, which is u32"),
        ("x: u32 = 'a'", "the default of 'x' of helper is 'a'; a default is an integer constant"),
        ("x: Ptr[u32] = 0", "0 given for the default of 'x' of helper, which is Ptr[u32]"),
        ("*, x: u32", "`*` and `/` are not in the language"),
    ],
)
def test_a_wrong_default_is_refused(module, run_lanai, parameter, text):
    m = module(f"""
        @firmware
        def helper({parameter}) -> u32:
            return u32(1)
        @firmware
        def main() -> u32:
            return helper()
    """)
    with pytest.raises(CompileError) as compiled:
        run_lanai(m.main)
    assert text in str(compiled.value)
