"""Structs, pointers, arrays, globals and registers under CPython."""

import pytest

from lanai_firmware.lang import FirmwareError, Machine, PlainRegisters, offset_of, sizeof

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
