"""Control packets: one put of `PACKET` bytes each, which arrives whole. Its last word, the sequence
number, arrives last."""

import struct
from enum import IntEnum, unique
from typing import NamedTuple, Self

PACKET = 64
WORD = struct.Struct(">I")
_HEADER = struct.Struct(">HHiIIII")  # kind, context, tag, length, and three numbers
INLINE = PACKET - _HEADER.size - WORD.size  # bytes of a short message
SEQUENCE_AT = PACKET - WORD.size
SEQUENCES = 1 << 32


@unique
class Kind(IntEnum):
    """The kind of a packet. Its three numbers are `a`, `b` and `c`."""

    SHORT = 1  # a message, which stands in the packet; a: number of a synchronous send, or 0
    EAGER = 2  # a message, in eager slot b; a as above
    REQUEST = 3  # a message that waits at the sender: its send is number a
    READY = 4  # send a may begin: receive b takes `length` bytes of it
    CHUNK = 5  # `length` bytes for receive a lie in chunk buffer b; c: the sender could not read its memory
    EMPTY_SLOT = 6  # eager slot a may be used again
    EMPTY_CHUNK = 7  # chunk buffer a may be used again
    MATCHED = 8  # synchronous send a has met a receive


KINDS = {one.value: one for one in Kind}  # a look-up is quicker than a call of `Kind`


class Packet(NamedTuple):
    """`data`: of a short message, at most INLINE bytes."""

    kind: Kind
    context: int = 0
    tag: int = 0
    length: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    data: bytes = b""

    def pack(self, sequence: int) -> bytes:
        header = _HEADER.pack(self.kind, self.context, self.tag, self.length, self.a, self.b, self.c)
        return header + self.data.ljust(INLINE, b"\0") + WORD.pack(sequence)

    @classmethod
    def unpack(cls, packet: bytes | memoryview) -> Self:
        kind, context, tag, length, a, b, c = _HEADER.unpack_from(packet)
        data = bytes(packet[_HEADER.size : _HEADER.size + length]) if kind == Kind.SHORT else b""
        return cls(KINDS[kind], context, tag, length, a, b, c, data)
