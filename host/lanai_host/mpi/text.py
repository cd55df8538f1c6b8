"""Strings as C knows them: what counts is bytes. Bytes that are no UTF-8 are kept (as surrogate
escapes)."""

_CONTINUES = 0x80  # the upper two bits of a byte that continues a code point


def encode(text: str) -> bytes:
    """The bytes of a string, without an end."""
    return text.encode(errors="surrogateescape")


def decode(data: bytes) -> str:
    """The string of these bytes."""
    return data.decode(errors="surrogateescape")


def byte_length(text: str) -> int:
    """Return how many bytes a string has in C, without its end."""
    return len(encode(text))


def c_text(text: str, size: int) -> bytes:
    """A C string with its end, of at most `size` bytes: what does not fit is cut between two code
    points."""
    data = encode(text)
    if len(data) >= size:
        end = size - 1
        while end > max(0, size - 4) and data[end] & 0xC0 == _CONTINUES:  # at most three bytes continue a code point
            end -= 1
        data = data[:end]
    return data + b"\0"
