"""A long queue in block RAM."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .memory_attributes import ANY_ON_COLLISION


class BlockRamQueue(wiring.Component):
    """First in, first out. An entry put in slot n may be taken from slot n + 2 on, or when those
    before it have been taken.

    All outputs but `i.ready` are registers: a block RAM answers so late in its slot that nothing
    else is done there than to fill one. `o.ready` may come late too.

    Where it is synthesized, a read that meets a write of the same word may get anything.

    Parameters: `shape` of an entry, `depth` >= 2, entries that it holds.

    Members: `i`, `o`, streams; `level`, entries held.
    """

    def __init__(self, shape, depth):
        if depth < 2:
            raise ValueError(f"a queue in block RAM of depth {depth!r} is too short; take at least 2")
        self.shape = shape
        self.depth = depth
        super().__init__(
            {"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)), "level": Out(range(depth + 1))}
        )

    def elaborate(self, platform):
        m = Module()
        # The oldest entry stands in `oldest`, those behind it in the storage.
        words = 1 << (self.depth - 2).bit_length() if self.depth > 2 else 2
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=words, init=[], attrs=ANY_ON_COLLISION)
        write, read = storage.write_port(), storage.read_port()
        stored = Signal(range(self.depth))
        head, tail = Signal(range(words)), Signal(range(words))
        oldest, valid = Signal.like(self.o.payload), Signal()
        last, put_before = Signal.like(self.i.payload), Signal()  # the entry put in the slot before
        put, moves, after = Signal(), Signal(), Signal.like(head)
        m.d.comb += [
            self.i.ready.eq(stored != self.depth - 1),
            put.eq(self.i.valid & self.i.ready),
            moves.eq((stored != 0) & (~valid | self.o.ready)),
            after.eq(Mux(moves, head + 1, head)),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            write.en.eq(put),
            read.addr.eq(after),
            self.o.valid.eq(valid),
            self.o.payload.eq(oldest),
        ]
        m.d.sync += [head.eq(after), last.eq(self.i.payload), put_before.eq(put)]
        with m.If(put):
            m.d.sync += tail.eq(tail + 1)
        with m.If(put != moves):
            m.d.sync += stored.eq(Mux(put, stored + 1, stored - 1))
        with m.If(moves):
            # What was put in the slot before was not there yet when the storage was read.
            m.d.sync += [oldest.eq(Mux((stored == 1) & put_before, last, read.data)), valid.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += valid.eq(0)
        taken = valid & self.o.ready
        with m.If(put != taken):
            m.d.sync += self.level.eq(Mux(put, self.level + 1, self.level - 1))
        return m
