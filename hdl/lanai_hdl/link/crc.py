"""The packet's CRC, in gateware and in Python from one set of parameters."""

import zlib
from collections.abc import Iterable

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.crc import catalog
from amaranth.lib.wiring import In, Out

PARAMETERS = catalog.CRC32_ETHERNET(data_width=32)


def crc32(words: Iterable[int]) -> int:
    """CRC-32 (Ethernet's, `zlib.crc32`) of the words' bytes in memory order."""
    return zlib.crc32(b"".join(word.to_bytes(4, "big") for word in words))


class WordCrc(wiring.Component):
    """`crc` is that of the words taken since `start`; a word is taken in each slot with `valid`,
    and shows in the next.

    `start` without `valid` begins an empty packet.
    """

    start: In(1)
    valid: In(1)
    data: In(32)
    crc: Out(32)

    def elaborate(self, platform):
        m = Module()
        m.submodules.crc = crc = PARAMETERS.create()
        first = self.data[24:32]  # the byte at the lowest address goes first
        m.d.comb += [
            crc.start.eq(self.start),
            crc.valid.eq(self.valid),
            crc.data.eq(Cat(first, self.data[16:24], self.data[8:16], self.data[0:8])),
            self.crc.eq(crc.crc),
        ]
        return m
