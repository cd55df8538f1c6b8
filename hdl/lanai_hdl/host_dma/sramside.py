"""The host DMA's two ports to the SRAM."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import ReadWord
from ..lbus.lbus import ADDRESS_BITS, LbusMaster
from ..queue import LateEntryQueue
from ..receive_dma.engine import RecvProgress
from ..send_dma.engine import LENGTH_BITS
from .aligner import AlignedWord

READ_AHEAD = 8  # words read from SRAM before the host bus takes them: hides the read's latency and a busy bus


class SramWriter(wiring.Component):
    """Writes the words of `i` to consecutive words of SRAM from `addr`, which `load` sets.

    A word with an error is not written, nor is any after it until the next `load`; they take their
    slots all the same. The word that waits holds `bytes` bytes of the transfer. In the slot
    of `settled` these are done. `pointer`: that word. `busy` while a word waits for its slot.
    """

    load: In(1)
    addr: In(ADDRESS_BITS)
    i: In(stream.Signature(AlignedWord))
    lbus: Out(LbusMaster())
    bytes: Out(3)
    settled: Out(1)
    pointer: Out(ADDRESS_BITS)
    failed: Out(1)
    busy: Out(1)

    def elaborate(self, platform):
        m = Module()
        word = self.i.payload
        failing = Signal()
        m.d.comb += [
            self.busy.eq(self.lbus.request),
            self.lbus.write.eq(1),
            self.i.ready.eq(~self.lbus.request | self.lbus.grant),
            failing.eq(self.failed | word.error),
            self.settled.eq(self.lbus.grant),
        ]
        with m.If(self.lbus.grant):
            m.d.sync += [self.lbus.request.eq(0), self.lbus.addr.eq(self.lbus.addr + 4)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                self.lbus.request.eq(1),
                self.lbus.wdata.eq(word.data),
                self.lbus.be.eq(word.mask & ~failing.replicate(4)),
                self.bytes.eq(sum(word.mask)),
                self.failed.eq(failing),
            ]
        m.d.comb += self.pointer.eq(self.lbus.addr)
        with m.If(self.load):
            m.d.sync += [self.lbus.addr.eq(self.addr & ~3), self.failed.eq(0)]
        return m


class SramReader(wiring.Component):
    """Reads the words that hold `length` bytes (not 0) at `addr` into `o`, beginning with `load`.

    With `follow` it keeps behind the receive DMA while that fills a buffer in which the next word
    lies (`progress`). `pointer` is the word that comes next. `busy` while words are left to read.
    """

    load: In(1)
    addr: In(ADDRESS_BITS)
    length: In(LENGTH_BITS)
    follow: In(1)
    progress: In(RecvProgress())
    o: Out(stream.Signature(ReadWord))
    lbus: Out(LbusMaster())
    pointer: Out(ADDRESS_BITS)
    busy: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = LateEntryQueue(ReadWord, READ_AHEAD)
        wiring.connect(m, words.o, wiring.flipped(self.o))
        left = Signal(LENGTH_BITS)
        granted = Signal()  # in the last slot: its word arrives in this one
        following = Signal()
        held = Signal()
        progress = self.progress
        inside = (self.pointer >= progress.start) & (self.pointer < progress.limit)
        waits = following & progress.busy & inside & (self.pointer >= progress.pointer)
        may = self.busy & ~held & ~granted
        m.d.sync += [
            granted.eq(self.lbus.grant),
            # Registered, for the comparisons are long. A word is asked for only two slots after the
            # pointer moved, so it is of this pointer; and of an older `progress`, which is safe
            # because that only grows. None is asked for in the slot after `load`.
            held.eq(waits | self.load),
        ]
        m.d.comb += [
            self.lbus.addr.eq(self.pointer),
            self.lbus.request.eq(may & words.room),
            words.i.valid.eq(granted),
            words.i.payload.data.eq(self.lbus.rdata),
        ]
        with m.If(self.load):
            m.d.sync += [
                self.pointer.eq(self.addr & ~3),
                left.eq((self.length + self.addr[:2] + 3) >> 2),
                self.busy.eq(1),
                following.eq(self.follow),
            ]
        with m.Elif(self.lbus.grant):
            # `busy` is `left` != 0, precomputed: the arbiter waits for `request`.
            m.d.sync += [self.pointer.eq(self.pointer + 4), left.eq(left - 1), self.busy.eq(left != 1)]
        return m
