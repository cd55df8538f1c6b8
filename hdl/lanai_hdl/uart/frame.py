"""Frames of the serial line: one an access, the same nine bytes in both directions."""

from dataclasses import dataclass

from amaranth.hdl import Cat
from amaranth.lib import data, enum

FRAME_BYTES = 9


class FrameKind(enum.Enum, shape=4):
    """The kind of a frame. The first four kinds come from the host, the others from the NIC."""

    PIO_READ = 1  # addr; answered by PIO_DATA
    PIO_WRITE = 2  # addr, data, be; posted
    MEMORY_ANSWER = 3  # data, to the oldest MEMORY_READ or MEMORY_WRITE that has none yet
    MEMORY_REFUSED = 4  # likewise, a bus error
    PIO_DATA = 9  # data
    MEMORY_READ = 10  # addr
    MEMORY_WRITE = 11  # addr, data, be
    INTERRUPT = 12  # the NIC's irq has risen


class FrameLayout(data.Struct):
    """One frame as the gateware holds it. On the line the most significant byte goes first."""

    data: 32
    addr: 32
    be: 4
    kind: FrameKind

    def as_bytes(self):
        """The frame's bytes in the order of the line."""
        bits = self.as_value()
        return Cat(bits[8 * i : 8 * i + 8] for i in reversed(range(FRAME_BYTES)))


@dataclass(frozen=True)
class Frame:
    """One frame as the host's software holds it."""

    kind: FrameKind
    addr: int = 0
    data: int = 0
    be: int = 0xF

    def to_bytes(self) -> bytes:
        return bytes([self.kind.value << 4 | self.be]) + self.addr.to_bytes(4, "big") + self.data.to_bytes(4, "big")

    @classmethod
    def from_bytes(cls, line: bytes) -> "Frame":
        if len(line) != FRAME_BYTES:
            raise ValueError(f"a frame has {FRAME_BYTES} bytes, not {len(line)}: {line.hex()}")
        try:
            kind = FrameKind(line[0] >> 4)
        except ValueError:
            known = ", ".join(f"{k.value}" for k in FrameKind)
            raise ValueError(f"frame kind {line[0] >> 4} of {line.hex()} is none of {known}") from None
        return cls(kind, int.from_bytes(line[1:5], "big"), int.from_bytes(line[5:9], "big"), line[0] & 0xF)
