"""The token with which a process accesses another's memory (MB-01)."""

import struct
from dataclasses import dataclass
from typing import Self

_FORM = struct.Struct(">BBHIQ")


@dataclass(frozen=True)
class Token:
    """Names exposed memory. It goes to other processes by message, as `pack` and `unpack` have it.

    Attributes:
        node: the NIC.
        exposure: its number at that NIC.
        key: what must be shown.
        first: offset of the first byte in the exposure's pages.
        size: bytes.
    """

    node: int
    exposure: int
    key: int
    first: int
    size: int

    SIZE = _FORM.size

    def pack(self) -> bytes:
        return _FORM.pack(self.node, self.exposure, self.key, self.first, self.size)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        if len(data) != cls.SIZE:
            raise ValueError(f"a token has {cls.SIZE} bytes, not {len(data)}")
        return cls(*_FORM.unpack(data))
