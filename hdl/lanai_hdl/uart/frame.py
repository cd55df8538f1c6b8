"""Frames of the line to a host: an access of any number of consecutive words, in the same form in both directions.

A byte with kind and byte enables, one with the number of words, the address, the words, each of the last two if the
kind has it. The most significant byte of an address or word goes first."""

from collections.abc import Iterator
from dataclasses import dataclass

from amaranth.lib import data, enum

MOST_WORDS = 64  # of a frame
HEAD_BYTES = 2  # which tell how many follow


class FrameKind(enum.Enum, shape=4):
    """The kind of a frame. The first four kinds come from the host, the others from the NIC."""

    PIO_READ = 1  # answered by PIO_DATA
    PIO_WRITE = 2  # posted
    MEMORY_ANSWER = 3  # to the MEMORY_READ or MEMORY_WRITE that has none yet; with words to a read
    MEMORY_REFUSED = 4  # likewise, a bus error for all of its words that have no answer
    PIO_DATA = 9
    MEMORY_READ = 10
    MEMORY_WRITE = 11
    INTERRUPT = 12  # the NIC's irq has risen


K = FrameKind
WITH_ADDRESS = frozenset({K.PIO_READ, K.PIO_WRITE, K.MEMORY_READ, K.MEMORY_WRITE})
WITH_WORDS = frozenset({K.PIO_WRITE, K.MEMORY_ANSWER, K.PIO_DATA, K.MEMORY_WRITE})


class Head(data.Struct):
    """The fields of a frame before its words, as the gateware holds them. `be` is of each word."""

    addr: 32
    count: range(MOST_WORDS + 1)
    be: 4
    kind: FrameKind


@dataclass(frozen=True)
class Frame:
    """One frame as the host's software holds it. `data`: its words. `count` is their number, and that of the words
    asked for where it asks for some. `be`, the bytes written, bit 3 the first, is of each word."""

    kind: FrameKind
    addr: int = 0
    data: bytes = b""
    be: int = 0xF
    asked: int = 0

    @classmethod
    def single(cls, kind: FrameKind, addr: int, word: int, be: int = 0xF) -> "Frame":
        """A frame with one word."""
        return cls(kind, addr, word.to_bytes(4, "big"), be)

    @property
    def count(self) -> int:
        return self.asked or len(self.data) // 4

    @property
    def word(self) -> int:
        """The first word."""
        return int.from_bytes(self.data[:4], "big")

    def to_bytes(self) -> bytes:
        address = self.addr.to_bytes(4, "big") if self.kind in WITH_ADDRESS else b""
        return bytes([self.kind.value << 4 | self.be, self.count]) + address + self.data

    @classmethod
    def from_bytes(cls, line: bytes) -> "Frame":
        size = size_of(line) if len(line) >= HEAD_BYTES else HEAD_BYTES
        if len(line) != size:
            raise ValueError(f"a frame that begins so has {size} bytes, not {len(line)}: {line.hex()}")
        kind, words_at = FrameKind(line[0] >> 4), HEAD_BYTES
        if kind in WITH_ADDRESS:
            words_at += 4
        words = line[words_at:]
        address = int.from_bytes(line[HEAD_BYTES:words_at], "big")
        return cls(kind, address, words, line[0] & 0xF, 0 if words else line[1])


def size_of(line: bytes) -> int:
    """Return the bytes of the frame that begins with these, which are HEAD_BYTES or more."""
    try:
        kind = FrameKind(line[0] >> 4)
    except ValueError:
        known = ", ".join(f"{k.value}" for k in FrameKind)
        raise ValueError(f"frame kind {line[0] >> 4} of {line.hex()} is none of {known}") from None
    if line[1] > MOST_WORDS:
        raise ValueError(f"a frame has {MOST_WORDS} words at most, not {line[1]}: {line.hex()}")
    return HEAD_BYTES + 4 * (kind in WITH_ADDRESS) + 4 * line[1] * (kind in WITH_WORDS)


def whole_frames(line: bytearray) -> Iterator[Frame]:
    """Take the frames that have come whole out of `line`."""
    while len(line) >= HEAD_BYTES and len(line) >= (size := size_of(line)):
        frame = Frame.from_bytes(bytes(line[:size]))
        del line[:size]
        yield frame
