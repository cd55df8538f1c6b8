"""The arithmetic of an APPEND to a FIFO."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from .fifo import COUNT_BITS, RECORD_HEADER, RingWord, TailWord, last_start
from .lookup_port import LENGTH_BITS, OFFSET_BITS
from .parameters import RemoteParameters


class FifoAppend(wiring.Component):
    """Computes where a record of `length` bytes goes in a FIFO, and the FIFO's new tail.

    The answers stand 2 slots after the control words and 3 after the length have come to rest, for
    as long as those stay: `full`, the record is refused; `offset`, where in the exposure it goes,
    and `size`, its bytes; `new_tail`, the new tail word.

    Members: `tail`, `head`, `ring`, the control words; `length`; `retry`, the request is a RETRY;
    `barred`, the record is refused whatever space there is; the answers.
    """

    tail: In(layout(TailWord))
    head: In(layout(TailWord))
    ring: In(layout(RingWord))
    length: In(LENGTH_BITS)
    retry: In(1)
    barred: In(1)
    full: Out(1)
    offset: Out(32)
    size: Out(LENGTH_BITS)
    new_tail: Out(layout(TailWord))

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        ring, head, tail = self.ring, self.head, self.tail
        # All are whole words. `words` is the record's size in words less 1.
        words, used = Signal(LENGTH_BITS - 2), Signal(COUNT_BITS - 2)
        end = Signal(COUNT_BITS - 2)
        m.d.sync += [
            words.eq(((self.length + 3) >> 2) + RECORD_HEADER // 4 - 1),
            used.eq(tail.count[2:] - head.count[2:]),
            end.eq(tail.count[2:] + words + 1),
            # Registered: the control words come from block RAM, late in their slot.
            self.offset.eq(
                Cat(Const(0, 2), tail.count[2:OFFSET_BITS], ring.page | (tail.count[OFFSET_BITS:] & ring.mask))
            ),
        ]
        in_page = OFFSET_BITS - 2
        last = Signal(COUNT_BITS - 2)  # the record's last word, counted from the head
        m.d.comb += [
            last.eq(used + words),
            self.size.eq(self.length + RECORD_HEADER),
        ]
        new, full = Signal(COUNT_BITS - 2), Signal()
        refuses = self.barred | (tail.refusing & ~self.retry)
        m.d.sync += full.eq((last[in_page:] & ~Cat(ring.mask, Const(0, 1))).any() | refuses)
        m.d.sync += new.eq(end)
        with m.If(end[:in_page] > last_start(self.config.payload) // 4):
            m.d.sync += new.eq(Cat(Const(0, in_page), end[in_page:] + 1))
        m.d.comb += [
            self.full.eq(full),
            self.new_tail.count.eq(Mux(full, tail.count, Cat(Const(0, 2), new))),
            self.new_tail.refusing.eq(full),
        ]
        return m
