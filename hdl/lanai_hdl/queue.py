"""A queue between two streams."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out


class Queue(wiring.Component):
    """First in, first out; an entry put in one slot may be taken in the next.

    Parameters: `shape` of an entry, `depth` >= 1. Members: `i`, `o` streams; `level` entries held; `free` entries that
    can still be put. All outputs depend on registers alone, so a full queue takes nothing in the slot in which it is read.
    """

    def __init__(self, shape, depth):
        if depth < 1:
            raise ValueError(f"a queue of depth {depth!r} holds nothing; take at least 1")
        self.shape = shape
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
                "free": Out(range(depth + 1), init=depth),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=self.depth, init=[])
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        put = self.i.valid & self.i.ready
        take = self.o.valid & self.o.ready
        m.d.comb += [
            self.i.ready.eq(self.level != self.depth),
            self.o.valid.eq(self.level != 0),
            self.o.payload.eq(read.data),
            write.data.eq(self.i.payload),
            write.en.eq(put),
        ]
        if self.depth > 1:
            head = Signal(range(self.depth))
            tail = Signal(range(self.depth))
            with m.If(put):
                m.d.sync += tail.eq(self._after(tail))
            with m.If(take):
                m.d.sync += head.eq(self._after(head))
            m.d.comb += [write.addr.eq(tail), read.addr.eq(head)]
        with m.If(put & ~take):
            m.d.sync += [self.level.eq(self.level + 1), self.free.eq(self.free - 1)]
        with m.If(take & ~put):
            m.d.sync += [self.level.eq(self.level - 1), self.free.eq(self.free + 1)]
        return m

    def _after(self, pointer):
        return Mux(pointer == self.depth - 1, 0, pointer + 1)
