"""Moves bytes between words that are cut at different addresses."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import ReadWord
from ..send_dma.engine import LENGTH_BITS


class AlignedWord(data.Struct):
    """A word of the target; `mask` names the bytes that belong to the transfer (bit 3 the first),
    `error` that a source word failed which came since the last word of the target."""

    data: 32
    mask: 4
    error: 1


class Aligner(wiring.Component):
    """Takes the words that hold a run of bytes at one address, gives the words that hold it at
    another.

    `load` begins a run: of the addresses `source` and `target` the lower two bits count, `length`
    is in bytes and not 0. Then `i` must bring every word that the run touches at its source, and
    `o` gives every one at its target. `busy` until the last has gone. A word of `o` needs at most
    one of `i`, and comes within the slot.
    """

    load: In(1)
    source: In(2)
    target: In(2)
    length: In(LENGTH_BITS)
    i: In(stream.Signature(ReadWord))
    o: Out(stream.Signature(AlignedWord))
    busy: Out(1)

    def elaborate(self, platform):
        m = Module()
        rotation = Signal(2)  # bytes that a word's content moves up; what moves out goes with the word before
        prime = Signal()  # the first word only fills `before`
        before = Signal(32)
        unsound = Signal()  # the word that primed failed: it comes out with no word of its own
        ins = Signal(LENGTH_BITS)
        outs = Signal(LENGTH_BITS)
        first_mask, last_mask = Signal(4), Signal(4)
        end = Signal(2)
        taken = self.i.valid & self.i.ready
        given = self.o.valid & self.o.ready
        m.d.comb += [
            end.eq(self.target + self.length),
            self.busy.eq(outs != 0),
            self.i.ready.eq(self.busy & (ins != 0) & (prime | self.o.ready)),
            self.o.valid.eq(self.busy & ~prime & (self.i.valid | (ins == 0))),
            self.o.payload.data.eq((Cat(self.i.payload.data, before) << (rotation << 3))[32:64]),
            self.o.payload.mask.eq(first_mask & Mux(outs == 1, last_mask, 0b1111)),
            self.o.payload.error.eq((self.i.valid & self.i.payload.error) | unsound),
        ]
        with m.If(rotation == 0):
            m.d.comb += self.o.payload.data.eq(self.i.payload.data)
        with m.If(self.load):
            m.d.sync += [
                rotation.eq(self.source - self.target),
                prime.eq(self.source > self.target),
                unsound.eq(0),
                ins.eq((self.length + self.source + 3) >> 2),
                outs.eq((self.length + self.target + 3) >> 2),
                first_mask.eq(0b1111 >> self.target),
                last_mask.eq(Mux(end == 0, 0b1111, ~(0b1111 >> end))),
            ]
        with m.Else():
            with m.If(taken):
                m.d.sync += [before.eq(self.i.payload.data), ins.eq(ins - 1), prime.eq(0)]
                with m.If(prime):
                    m.d.sync += unsound.eq(self.i.payload.error)
            with m.If(given):
                m.d.sync += [outs.eq(outs - 1), first_mask.eq(0b1111), unsound.eq(0)]
        return m
