"""Queues: one interface, and a class for each way in which entries may come and go.

| queue | taken, after it was put in slot n | for |
|---|---|---|
| `Queue` | from n + 1 on | the usual one: its outputs come from registers |
| `LateEntryQueue` | from n + 1 on | entries that come late in their slot |
| `BypassQueue` | from n on | entries that must not wait |
| `PopQueue` | from n + 1 on | what a register write takes |
| `BlockRamQueue` | from n + 2 on | many entries, in block RAM |
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .memory_attributes import ANY_ON_COLLISION


class QueueInterface(wiring.Component):
    """First in, first out. `i`, `o`, streams (but see `PopQueue`); `level` entries held; `free` entries
    that can still be put.

    Parameters: `shape` of an entry, `depth`, entries that it holds.
    """

    output = stream.Signature
    least = 1  # that `depth` may be

    def __init__(self, shape, depth, **members):
        if depth < self.least:
            raise ValueError(f"depth={depth!r} of a {type(self).__name__} must be at least {self.least}")
        self.shape = shape
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(self.output(shape)),
                "level": Out(range(depth + 1)),
                "free": Out(range(depth + 1), init=depth),
                **members,
            }
        )

    def _count(self, m, put, take):
        """`level` and `free`, by whether an entry is put and taken in this slot."""
        with m.If(put & ~take):
            m.d.sync += [self.level.eq(self.level + 1), self.free.eq(self.free - 1)]
        with m.If(take & ~put):
            m.d.sync += [self.level.eq(self.level - 1), self.free.eq(self.free + 1)]


class BareQueue(QueueInterface):
    """A queue in distributed memory, which answers within the slot. Subclasses say what its ends do."""

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
        self._count(m, put, take)
        self._ends(m, head, read, put, take)
        return m

    def _taken(self):
        return self.o.valid & self.o.ready

    def _stored(self, m, put):
        """Return a bit, an entry goes to the storage in this slot, and the entry."""
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
        # The queue is empty, or becomes empty in this slot: bypass the storage. `take` is
        # timing-critical, so it drives the register's enable only, not the data multiplexer.
        with m.If((self.level == 0) | take):
            m.d.sync += oldest.eq(Mux(self.level <= 1, self.i.payload, read.data))


class LateEntryQueue(BareQueue):
    """A queue that does in each slot what `Queue` does, for entries that are timing-critical: they go
    to a register and nowhere else.

    From there they go to the storage in the next slot, or out if there is no older one. `room`, a
    register: two entries can be put.
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
        # `room` is precomputed for each of the three ways in which `level` can change.
        less, same, more = self.free >= 3, self.free >= 2, self.free >= 1
        m.d.sync += self.room.eq(Mux(put, Mux(take, same, less), Mux(take, more, same)))
        m.d.sync += alone.eq(put & ((self.level == 0) | (take & (self.level == 1))))
        # Of two, the younger is not in the storage yet if it was put in the slot before.
        with m.If(alone | take):
            m.d.sync += oldest.eq(Mux(self._put & (self.level <= 2), self._entry, read.data))


class BypassQueue(BareQueue):
    """A queue whose entry may be taken in the slot in which it is put, if there is no older one."""

    def _ends(self, m, head, read, put, take):
        empty = Signal()
        m.d.comb += [
            empty.eq(self.level == 0),
            self.i.ready.eq(self.level != self.depth),
            self.o.valid.eq(~empty | put),
            self.o.payload.eq(Mux(empty, self.i.payload, read.data)),
            read.addr.eq(head),
        ]


class PopPort(wiring.Signature):
    """The oldest entry of a queue that a register write takes, seen from the queue.

    In a slot with `pop` the oldest entry goes, and `valid` and `payload` show the one after it: a
    reader sees in the slot of the strobe what the write did. `pop` without an entry does nothing.
    """

    def __init__(self, shape):
        super().__init__({"valid": Out(1), "payload": Out(shape), "pop": In(1)})


class PopQueue(BareQueue):
    """A queue whose `o` is a `PopPort`. A full queue takes an entry in the slot of a `pop`."""

    output = PopPort

    def _taken(self):
        return self.o.pop & (self.level != 0)

    def _ends(self, m, head, read, put, take):
        m.d.comb += [
            self.i.ready.eq((self.level != self.depth) | take),
            self.o.valid.eq(Mux(take, self.level != 1, self.level != 0)),
            self.o.payload.eq(read.data),
            read.addr.eq(Mux(take, self._after(head), head)),
        ]


class BlockRamQueue(QueueInterface):
    """A long queue in block RAM. An entry put in slot n may be taken from slot n + 2 on, or when those
    before it have been taken.

    All outputs but `i.ready` are registers: a block RAM answers so late in its slot that nothing
    else is done there than to fill one. `o.ready` may come late too.

    Where it is synthesized, a read that meets a write of the same word may get anything.
    """

    least = 2

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
        self._count(m, put, valid & self.o.ready)
        return m


class Posted(wiring.Signature):
    """An entry that a register write posts, seen from the registers.

    It is not a stream: the strobe of a write lasts one slot, so `entry` is there in the slot of `post`
    only, and is dropped if the queue is `full` in that slot.
    """

    def __init__(self, shape):
        super().__init__({"entry": Out(shape), "post": Out(1), "full": In(1)})


def connect_posted(m, posted, queue: stream.Interface) -> None:
    """Puts what is posted into `queue`."""
    m.d.comb += [queue.valid.eq(posted.post), queue.payload.eq(posted.entry), posted.full.eq(~queue.ready)]
