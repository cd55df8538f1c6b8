"""The control words of the FIFOs that were appended to last."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..machine import PAGE_SIZE
from ..memory_attributes import ANY_ON_COLLISION, IN_BLOCK_RAM
from .fifo import CONTROL_FIELDS, RingWord, TailWord

KEPT = 16  # FIFOs
ALIGNED = 16  # bytes; the words of a FIFO that does not begin at a multiple of them are not kept
TAIL, HEAD, RING = range(len(CONTROL_FIELDS))
TAG = len(CONTROL_FIELDS)  # of an entry's words, the one that names its FIFO


class FifoWords(wiring.Component):
    """Keeps the control words of `KEPT` FIFOs, so that a record costs no read of host memory.

    Only the adapter changes the tail. Nothing changes the ring. The head is as it was when it was read
    last: the FIFO may have more space by now, and never less.

    A FIFO is named by exposure and offset. All names of the same words agree in the lower bits of
    the offset, because exposures consist of whole pages. Those bits alone choose the entry, so that
    the words are never kept under two names.

    Whatever may have changed words that are kept must `forget` them: another write to host memory,
    a new page or exposure.

    Members
    -------
    exposure, offset : ``In``, the FIFO that the other members are about
    known : ``Out(1)``, its words are kept; of `exposure` and `offset` two slots before
    tail, head, ring : ``Out``, its words; of `exposure` and `offset` in the slot before
    take, field, word : ``In``, control word `field` is `word` from now on; they are not `known`
    keep : ``In(1)``, all have been taken, or are known; the tail is `new_tail`, and they are known
        from now on, unless they have been forgotten since `begin`
    begin : ``In(1)``, no words are being used
    forget : ``In(1)``, no words are
    """

    def __init__(self):
        super().__init__(
            {
                "exposure": In(8),
                "offset": In(32),
                "known": Out(1),
                "tail": Out(layout(TailWord)),
                "head": Out(layout(TailWord)),
                "ring": Out(layout(RingWord)),
                "take": In(1),
                "field": In(range(len(CONTROL_FIELDS))),
                "word": In(32),
                "keep": In(1),
                "new_tail": In(layout(TailWord)),
                "begin": In(1),
                "forget": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # An entry is not looked at in the slot after it is written.
        attributes, shape = IN_BLOCK_RAM | ANY_ON_COLLISION, data.ArrayLayout(32, TAG + 1)
        m.submodules.entries = entries = memory.Memory(shape=shape, depth=KEPT, init=[], attrs=attributes)
        read, write = entries.read_port(), entries.write_port(granularity=1)
        at = Signal(range(KEPT))
        name = Signal(32)
        valid, changed = Signal(KEPT), Signal()
        low = (ALIGNED - 1).bit_length()
        in_page = (PAGE_SIZE - 1).bit_length()
        assert low + len(at) <= in_page, "an entry is chosen by bits that all names have in common"
        m.d.comb += [
            at.eq(self.offset[low:]),
            name.eq(Cat(self.offset[low + len(at) :], self.exposure)),
            read.addr.eq(at),
            write.addr.eq(at),
            self.tail.eq(read.data[TAIL]),
            self.head.eq(read.data[HEAD]),
            self.ring.eq(read.data[RING]),
            write.data[TAG].eq(name),
        ]
        for field in (TAIL, HEAD, RING):
            m.d.comb += write.data[field].eq(self.word)
        with m.If(self.take):
            m.d.comb += write.en.eq((1 << self.field) | (1 << TAG))
        with m.If(self.keep):
            m.d.comb += [write.data[TAIL].eq(self.new_tail), write.en.eq(1 << TAIL)]
        mine = valid.bit_select(at, 1)
        m.d.sync += self.known.eq(mine & (read.data[TAG] == name) & (self.offset[:low] == Const(0, low)))
        with m.If(self.begin):
            m.d.sync += changed.eq(0)
        with m.If(self.keep):
            m.d.sync += mine.eq((self.offset[:low] == 0) & ~changed)
        with m.If(self.take):
            m.d.sync += mine.eq(0)
        with m.If(self.forget):
            m.d.sync += [valid.eq(0), changed.eq(1), self.known.eq(0)]
        return m
