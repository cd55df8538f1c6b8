"""Reads protocol buffers for tests of what writes them."""

import struct
from collections import defaultdict
from collections.abc import Iterator


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field of a message: its number, and a number or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            (value,) = struct.unpack_from("<Q", data, at)
            at += 8
        else:
            assert key & 7 == 2
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size
        yield key >> 3, value


def members(data: bytes) -> dict[int, list[int | bytes]]:
    """All values of each field of a message."""
    found: dict[int, list[int | bytes]] = defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found
