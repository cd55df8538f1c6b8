"""Queues between two streams."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out


class BareQueue(wiring.Component):
    """What queues have in common: `i`, `o` streams; `level` entries held; `free` entries that can
    still be put."""

    def __init__(self, shape, depth, **members):
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
                **members,
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=self.depth, init=[])
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        put = self.i.valid & self.i.ready
        take = self._taken()
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        stores, entry = self._stored(m, put)
        m.d.comb += [write.data.eq(entry), write.en.eq(stores), write.addr.eq(tail)]
        if self.depth > 1:
            with m.If(stores):
                m.d.sync += tail.eq(self._after(tail))
            with m.If(take):
                m.d.sync += head.eq(self._after(head))
        with m.If(put & ~take):
            m.d.sync += [self.level.eq(self.level + 1), self.free.eq(self.free - 1)]
        with m.If(take & ~put):
            m.d.sync += [self.level.eq(self.level - 1), self.free.eq(self.free + 1)]
        self._ends(m, head, read, put, take)
        return m

    def _taken(self):
        return self.o.valid & self.o.ready

    def _stored(self, m, put):
        """Whether an entry goes to the storage in this slot, and which."""
        return put, self.i.payload

    def _after(self, pointer):
        return Mux(pointer == self.depth - 1, 0, pointer + 1) if self.depth > 1 else 0


class Queue(BareQueue):
    """First in, first out; an entry put in one slot may be taken in the next.

    Parameters: `shape` of an entry, `depth` >= 1. All outputs are registers or nearly so: a full
    queue takes nothing in the slot in which it is read, and the oldest entry stands in a register
    of its own.
    """

    def _ends(self, m, head, read, put, take):
        oldest = Signal.like(self.o.payload)
        m.d.comb += [
            self.i.ready.eq(self.level != self.depth),
            self.o.valid.eq(self.level != 0),
            self.o.payload.eq(oldest),
            read.addr.eq(self._after(head)),
        ]
        # Alone, or alone but for one that goes: the entry is the oldest at once. Whether one goes
        # may be found out late, so it chooses nothing here.
        with m.If((self.level == 0) | take):
            m.d.sync += oldest.eq(Mux(self.level <= 1, self.i.payload, read.data))


class LateEntryQueue(BareQueue):
    """As `Queue`, slot for slot, for entries that are known late in their slot: they go to a
    register and nowhere else.

    From there they go to the storage a slot later, or out if there is no older one. `room` for two
    entries is told by a register.
    """

    def __init__(self, shape, depth):
        super().__init__(shape, depth, room=Out(1, init=depth >= 2))

    def _stored(self, m, put):
        self._put, self._entry = Signal(), Signal.like(self.i.payload)  # in the slot before
        m.d.sync += [self._put.eq(put), self._entry.eq(self.i.payload)]
        return self._put, self._entry

    def _ends(self, m, head, read, put, take):
        alone = Signal()  # the only entry, and not in `oldest` yet
        oldest = Signal.like(self.o.payload)
        m.d.comb += [
            self.i.ready.eq(self.level != self.depth),
            self.o.valid.eq(self.level != 0),
            self.o.payload.eq(Mux(alone, self._entry, oldest)),
            read.addr.eq(self._after(head)),
        ]
        # Room for two after a put alone, neither or both, a take alone.
        less, same, more = self.free >= 3, self.free >= 2, self.free >= 1
        m.d.sync += self.room.eq(Mux(put, Mux(take, same, less), Mux(take, more, same)))
        m.d.sync += alone.eq(put & ((self.level == 0) | (take & (self.level == 1))))
        # Of two, the younger is not in the storage yet if it was put in the slot before.
        with m.If(alone | take):
            m.d.sync += oldest.eq(Mux(self._put & (self.level <= 2), self._entry, read.data))


class LateInQueue(BareQueue):
    """A queue whose entries are put a slot late: `i` tells of the slot before (`RegisterFile`).

    So an entry may be taken in the very slot in which it stands on `i`, and whether there was room
    for it is a matter of the slot before.
    """

    def _ends(self, m, head, read, put, take):
        empty, room = Signal(), Signal(init=1)
        m.d.sync += room.eq((self.level != self.depth) & ~(put & (self.level == self.depth - 1)))
        m.d.comb += [
            empty.eq(self.level == 0),
            self.i.ready.eq(room),
            self.o.valid.eq(~empty | put),
            self.o.payload.eq(read.data),
            read.addr.eq(head),
        ]
        with m.If(empty):
            m.d.comb += self.o.payload.eq(self.i.payload)


class LateOutQueue(BareQueue):
    """A queue whose entries are taken a slot late: `o.ready` tells of the slot before
    (`RegisterFile`).

    So `o` and `i.ready` are already as if the entry had gone. A `ready` without an entry does
    nothing.
    """

    def _taken(self):
        return self.o.ready & (self.level != 0)

    def _ends(self, m, head, read, put, take):
        m.d.comb += [
            self.i.ready.eq((self.level != self.depth) | take),
            self.o.valid.eq(Mux(take, self.level != 1, self.level != 0)),
            self.o.payload.eq(read.data),
            read.addr.eq(Mux(take, self._after(head), head)),
        ]
