"""SRAM of the golden model, big-endian bytes that are also fast to read as words, and its on-chip registers."""

import sys
from typing import Protocol

from lanai_hdl import machine
from lanai_hdl.errors import UserError

# The words are kept in the machine's own byte order, so that one index gives one value. A
# big-endian byte or half then lives at its address with the low bits flipped.
BYTE_FLIP = 3 if sys.byteorder == "little" else 0
HALF_FLIP = 1 if sys.byteorder == "little" else 0


class Memory:
    """`size` bytes, zeroed; a multiple of 4.

    `words`, `halves` and `bytes` are views of the same memory, for code that must be fast: the value at
    aligned address `a` is `words[a >> 2]`, `halves[a >> 1 ^ HALF_FLIP]`, `bytes[a ^ BYTE_FLIP]`.
    `read` and `write` take any address and length and speak big-endian bytes.
    """

    def __init__(self, size: int) -> None:
        if size <= 0 or size % 4:
            raise UserError(f"SRAM size {size} is not a positive multiple of 4")
        self.size = size
        self.bytes = memoryview(bytearray(size))
        self.halves = self.bytes.cast("H")
        self.words = self.bytes.cast("I")

    def _check(self, address: int, length: int) -> None:
        if not 0 <= address <= address + length <= self.size:
            raise UserError(f"bytes {address:#x}..{address + length:#x} are outside the SRAM of {self.size:#x} bytes")

    def read(self, address: int, length: int) -> bytes:
        """`length` bytes as the machine's programs see them."""
        self._check(address, length)
        first, last = address >> 2, (address + length + 3) >> 2
        raw = bytearray(self.bytes[first << 2 : last << 2])
        _to_big_endian(raw)
        return bytes(raw[address & 3 : (address & 3) + length])

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        self._check(address, len(data))
        first, last = address >> 2, (address + len(data) + 3) >> 2
        raw = bytearray(self.bytes[first << 2 : last << 2])
        _to_big_endian(raw)
        raw[address & 3 : (address & 3) + len(data)] = data
        _to_big_endian(raw)
        self.bytes[first << 2 : last << 2] = raw


def _to_big_endian(raw: bytearray) -> None:
    """Swaps the bytes of each word in place, unless the machine is big-endian itself."""
    if BYTE_FLIP:
        raw[0::4], raw[1::4], raw[2::4], raw[3::4] = raw[3::4], raw[2::4], raw[1::4], raw[0::4]


class RegisterPort(Protocol):
    """The registers as the processor meets them. Offsets are multiples of 4 below
    REGISTERS_SIZE."""

    def read(self, offset: int) -> int: ...

    def write(self, offset: int, value: int) -> bool:
        """True if the processor shall stall after this store, as one to WAIT does, until
        `Processor.wake`."""
        ...


class PlainRegisters(RegisterPort):
    """Words that keep what was written, except that a mask written to WAIT stalls unless ISR
    already has one of its bits."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}

    def read(self, offset: int) -> int:
        return self.words.get(offset, 0)

    def write(self, offset: int, value: int) -> bool:
        self.words[offset] = value
        return offset == machine.offset("WAIT") and bool(value) and not value & self.read(machine.offset("ISR"))
