"""The symbols on the pins, and the check of route words."""

from collections.abc import Iterable

from amaranth import Cat
from amaranth.lib import data, enum

DISTANCE = 4  # bits in which two control symbols differ at least
ROUTE_POLYNOMIAL, ROUTE_INITIAL = 0x2F, 0xFF  # CRC-8 of AUTOSAR: up to three wrong bits of 119 are seen
CONTROL, BYTE = 0b11, 0b00  # the halves of the control pin


class Control(enum.Enum, shape=8):
    """Control symbols: words of the extended Hamming code, without all zeros and all ones, as dead pins have."""

    GO = 0x0F
    STOP = 0x33
    REST = 0xF0
    REST_STOP = 0xCC
    HEAD = 0x96
    TAIL = 0x55
    CHECK = 0x69
    # Training: TRAIN, MARK or HEARD, THIRD. Each data pin has other bits in it, and none what another has inverted.
    TRAIN = 0x3C
    MARK = 0x66
    HEARD = 0x99
    THIRD = 0x5A


class Symbol(data.Struct):
    """The pins of a slot. The first half of it has bits 0 to 3 of `data` and bit 0 of `control`, the second half
    bits 4 to 7 and bit 1."""

    data: 8
    control: 2


def step(state, byte):
    """Return the CRC of a route word after one more byte. Both may be numbers or signals."""
    numbers = isinstance(state, int)
    bits = [(state >> n & 1) ^ (byte >> n & 1) if numbers else state[n] ^ byte[n] for n in range(8)]
    for _ in range(8):
        moved, top = [0, *bits[:7]], bits[7]
        bits = [bit ^ top if ROUTE_POLYNOMIAL >> n & 1 else bit for n, bit in enumerate(moved)]
    return sum(bit << n for n, bit in enumerate(bits)) if numbers else Cat(*bits)


def route_check(octets: Iterable[int]) -> int:
    """Return the check of a route word of these bytes."""
    state = ROUTE_INITIAL
    for byte in octets:
        state = step(state, byte)
    return state
