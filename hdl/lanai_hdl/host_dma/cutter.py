"""Cuts a transfer into host bus bursts."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..host_bus.ports import Burst
from ..run_time import numbers
from ..send_dma.engine import LENGTH_BITS


class BurstCutter(wiring.Component):
    """`load` begins a run of `length` (not 0) bytes at bus address `addr`, in direction `write`;
    `o` gives the bursts that cover its words.

    Bursts end at multiples of `max_burst`, so none crosses a page. A burst is ready two slots after
    `load` or after the last was taken.

    Attributes, for proofs: `word`, `left`, words that are in no burst yet.
    """

    load: In(1)
    write: In(1)
    addr: In(32)
    length: In(LENGTH_BITS)
    o: Out(stream.Signature(Burst))

    def __init__(self, config: NicConfig):
        self.config = config
        self.word = Signal(30)
        self.left = Signal(LENGTH_BITS)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        word, left = self.word, self.left
        longest = numbers(self.config, platform).max_burst >> 2  # words, a power of two
        room = Signal(range(self.config.max_burst // 4 + 1))  # words up to the boundary
        m.d.comb += room.eq(longest - (word & (longest - 1)))
        with m.If(self.load):
            m.d.sync += [
                word.eq(self.addr[2:]),
                left.eq((self.length + self.addr[:2] + 3) >> 2),
                self.o.payload.write.eq(self.write),
                self.o.valid.eq(0),
            ]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.Elif(~self.o.valid & (left != 0)):
            words = Mux(left < room, left, room)
            m.d.sync += [
                self.o.valid.eq(1),
                self.o.payload.word.eq(word),
                self.o.payload.words.eq(words),
                word.eq(word + words),
                left.eq(left - words),
            ]
        return m
