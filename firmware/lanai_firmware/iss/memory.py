"""SRAM of the golden model: big-endian bytes that are also fast to read as words."""

import sys

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
