"""Frames from the bytes of a line, and bytes from frames."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..host_bus.ports import PIO_ADDRESS_BITS
from .frame import MOST_WORDS, WITH_ADDRESS, WITH_WORDS, FrameKind, Head

FROM_HOST = (FrameKind.PIO_READ, FrameKind.PIO_WRITE, FrameKind.MEMORY_ANSWER, FrameKind.MEMORY_REFUSED)


def is_among(m, kind, kinds):
    """Return a bit: `kind` is one of them."""
    found = Signal()
    with m.Switch(kind):
        with m.Case(*(one for one in FrameKind if one in kinds)):
            m.d.comb += found.eq(1)
    return found


class Part(data.Struct):
    """A word of a frame, at the address of its own; or a frame without any."""

    head: Head
    word: 32


class FrameReceiver(wiring.Component):
    """Gathers bytes into frames from the host, word by word. A frame broken off by `silence` slots without a byte is
    forgotten, so that both sides find step again; but for its words that were whole. So is one that cannot be, with
    all that comes before a silence.

    Members: `i`, bytes; `o`, a `Part` for each word of a frame, and for a frame without words; `empty`, ``Out(1)``:
    no frame has begun.
    """

    def __init__(self, silence: int):
        self._silence = silence
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(Part)), "empty": Out(1)})

    def elaborate(self, platform):
        m = Module()
        head, word, done = Signal(Head), Signal(32), Signal(range(MOST_WORDS + 1))  # `done` words of it
        octet = Signal(2)  # of an address or word
        byte, came = self.i.payload, self.i.valid & self.i.ready
        words, addressed = is_among(m, head.kind, WITH_WORDS), is_among(m, head.kind, WITH_ADDRESS)
        late = self._late(m, came)
        m.d.comb += [self.o.payload.head.eq(head), self.o.payload.word.eq(word), self.i.ready.eq(~self.o.valid)]
        with m.If(came):
            m.d.sync += octet.eq(octet + 1)
        with m.FSM():
            with m.State("KIND"):
                m.d.comb += self.empty.eq(1)
                m.d.sync += [done.eq(0), head.kind.eq(byte[4:]), head.be.eq(byte[:4])]
                with m.If(came):
                    m.next = "WRONG"
                    with m.Switch(byte[4:]):
                        with m.Case(*(one.value for one in FROM_HOST)):
                            m.next = "COUNT"
            with m.State("COUNT"):
                m.d.sync += [octet.eq(0), head.count.eq(byte)]
                with m.If(came):
                    m.next = "PART"
                    with m.If((byte > MOST_WORDS) | (addressed & (byte == 0))):
                        m.next = "WRONG"
                    with m.Elif(addressed):
                        m.next = "ADDRESS"
                    with m.Elif(words & (byte != 0)):
                        m.next = "WORD"
                with m.If(late):
                    m.next = "KIND"
            with m.State("ADDRESS"):
                with m.If(came):
                    m.d.sync += head.addr.eq(Cat(byte, head.addr[:24]))
                    with m.If(octet == 3):
                        m.next = "PART"
                        with m.If(words):
                            m.next = "WORD"
                with m.If(late):
                    m.next = "KIND"
            with m.State("WORD"):
                with m.If(came):
                    m.d.sync += word.eq(Cat(byte, word[:24]))
                    with m.If(octet == 3):
                        m.d.sync += done.eq(done + 1)
                        m.next = "PART"
                with m.If(late):
                    m.next = "KIND"
            with m.State("PART"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += head.addr[:PIO_ADDRESS_BITS].eq(head.addr[:PIO_ADDRESS_BITS] + 4)
                    m.next = "KIND"
                    with m.If(words & (done != head.count)):
                        m.next = "WORD"
            with m.State("WRONG"), m.If(late):
                m.next = "KIND"
        return m

    def _late(self, m, came):
        """Return a bit: a frame has begun, and for `silence` slots no byte came that was waited for."""
        quiet = Signal(range(self._silence + 1))
        m.d.sync += quiet.eq(Mux(came | self.empty | self.o.valid, 0, quiet + 1))
        return ~came & (quiet == self._silence)


class FrameSender(wiring.Component):
    """Sends frames as bytes. Members: `i`, heads, each taken with the last byte of its frame; `word`, the words of
    those that have any; `o`, bytes."""

    i: In(stream.Signature(Head))
    word: In(stream.Signature(32))
    o: Out(stream.Signature(8))

    def elaborate(self, platform):
        m = Module()
        head, word = self.i.payload, self.word.payload
        left, octet = Signal.like(head.count), Signal(2)
        words, addressed = is_among(m, head.kind, WITH_WORDS), is_among(m, head.kind, WITH_ADDRESS)
        last = Signal()  # the byte is a word's last one
        m.d.comb += last.eq(self.o.ready & (octet == 3))
        with m.FSM():
            with m.State("KIND"):
                m.d.comb += [self.o.valid.eq(self.i.valid), self.o.payload.eq(Cat(head.be, head.kind))]
                with m.If(self.o.valid & self.o.ready):
                    m.next = "COUNT"
            with m.State("COUNT"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(head.count)]
                m.d.sync += [octet.eq(0), left.eq(head.count)]
                with m.If(self.o.ready):
                    with m.If(addressed):
                        m.next = "ADDRESS"
                    with m.Elif(words & (head.count != 0)):
                        m.next = "WORD"
                    with m.Else():
                        m.d.comb += self.i.ready.eq(1)
                        m.next = "KIND"
            with m.State("ADDRESS"):
                m.d.comb += [self.o.valid.eq(1), self.o.payload.eq(_octet(head.addr, octet))]
                m.d.sync += octet.eq(octet + self.o.ready)
                with m.If(last):
                    m.next = "WORD"
                    with m.If(~words):
                        m.d.comb += self.i.ready.eq(1)
                        m.next = "KIND"
            with m.State("WORD"):
                m.d.comb += [self.o.valid.eq(self.word.valid), self.o.payload.eq(_octet(word, octet))]
                with m.If(self.word.valid):
                    m.d.sync += octet.eq(octet + self.o.ready)
                    with m.If(last):
                        m.d.comb += self.word.ready.eq(1)
                        m.d.sync += left.eq(left - 1)
                        with m.If(left == 1):
                            m.d.comb += self.i.ready.eq(1)
                            m.next = "KIND"
        return m


def _octet(word, number):
    """One of the bytes of a word, the most significant first."""
    return Array(word.word_select(3 - n, 8) for n in range(4))[number]
