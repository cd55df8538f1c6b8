"""The packet's CRC, in gateware and in Python from one set of parameters."""

import zlib
from collections.abc import Iterable

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

BITS = 32
INITIAL = 0xFFFFFFFF
POLYNOMIAL = 0xEDB88320  # Ethernet's, the bit of the highest power lowest


def _shifted(state: int) -> int:
    """The state after a word of zeros."""
    for _ in range(BITS):
        state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state


# A word is added to the state before both are shifted. So each bit of the next state is the parity of some bits of the
# sum: the mask of those, for each bit.
_SHIFTED = [_shifted(1 << bit) for bit in range(BITS)]
PARITIES = [sum((_SHIFTED[bit] >> out & 1) << bit for bit in range(BITS)) for out in range(BITS)]


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
        state, added = Signal(BITS, init=INITIAL), Signal(BITS)
        first = self.data[24:32]  # the byte at the lowest address goes first
        word = Cat(first, self.data[16:24], self.data[8:16], self.data[0:8])
        m.d.comb += [added.eq(Mux(self.start, INITIAL, state) ^ word), self.crc.eq(~state)]
        with m.If(self.valid):
            m.d.sync += state.eq(Cat((added & parity).xor() for parity in PARITIES))
        with m.Elif(self.start):
            m.d.sync += state.eq(INITIAL)
        return m
