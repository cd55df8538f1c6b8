"""Protocol buffers as bytes: as much of the encoding as a writer needs."""

import struct
from collections.abc import Iterable

Member = tuple[int, int | float | str | bytes]  # number of the field, value


def varint(number: int) -> bytes:
    """Return a whole number, seven bits a byte, the lowest first. A negative one takes all 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def member(number: int, value: int | float | str | bytes) -> bytes:
    """Return one field of a message: an int as varint, a float as double, a text or message with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fixed64(number: int, value: int) -> bytes:
    """Return a field of type fixed64."""
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def message(members: Iterable[Member]) -> bytes:
    """Return a message of these fields."""
    return b"".join(member(number, value) for number, value in members)
