"""Stream buffers: stores to consecutive words leave in one packet (SC-03)."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .parameters import RemoteParameters
from .tables import APERTURE_PAGE_BITS, APERTURE_WORD_BITS

PLACE_BITS = APERTURE_PAGE_BITS + APERTURE_WORD_BITS  # number of a word of the aperture


def word_bits(config: RemoteParameters) -> int:
    """Bits of the number of a word in a buffer."""
    return (config.stream_bytes // 4 - 1).bit_length()


def stream_bits(config: RemoteParameters) -> int:
    return (config.streams - 1).bit_length()


def count_shape(config: RemoteParameters) -> range:
    """Return the shape of a number of words in a buffer."""
    return range(config.stream_bytes // 4 + 1)


def gathered_layout(config: RemoteParameters) -> data.StructLayout:
    """A closed buffer: `words` words from word `first` of the aperture on."""
    return data.StructLayout({"first": PLACE_BITS, "words": count_shape(config)})


class StorePort(wiring.Signature):
    """The host's accesses to the aperture and its maps, seen from the host: `word` is stored to word
    `place` (`store`), or is half `field` of the map of the page with this word (`map`), until
    `taken`. Word `place` is read (`load`) until `loaded`, and then stands on `value`. With `begins` a
    command begins: stores before it go first."""

    def __init__(self):
        super().__init__(
            {
                "store": Out(1),
                "map": Out(1),
                "place": Out(PLACE_BITS),
                "field": Out(1),
                "word": Out(32),
                "taken": In(1),
                "load": Out(1),
                "loaded": In(1),
                "value": In(32),
                "begins": Out(1),
            }
        )


class StreamBuffers(wiring.Component):
    """`streams` buffers of `stream_bytes` bytes. Each gathers consecutive words of an aligned block
    of as many bytes; which block goes to which buffer, the address bits above the block say.

    A buffer is closed when it is full, when a store to it does not go on where the last one ended,
    when a store opens another buffer, with `close`, and when for `stream_slots` slots there was no
    store at all. It is kept, and takes no store, until it is `freed`: what it holds may have to be
    sent again. So two stores to one word never overtake each other.

    Members
    -------
    store : ``In(1)``, `word` is for word `place` of the aperture, until `taken`
    close : ``In(1)``, closes every buffer that holds anything; no store is taken in this slot
    o : ``Out(stream)``, closed buffers
    free : ``In(1)``, buffer `freed` may be used again
    index, read : word `index` of all buffers stands on `read` in the next slot
    open : ``Out(1)``, a buffer holds words and is not closed
    pending : ``Out(1)``, a closed buffer has not been taken from `o`
    idle : ``Out(1)``, all buffers are free
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "store": In(1),
                "place": In(PLACE_BITS),
                "word": In(32),
                "taken": Out(1),
                "close": In(1),
                "o": Out(stream.Signature(gathered_layout(config))),
                "free": In(1),
                "freed": In(stream_bits(config)),
                "index": In(word_bits(config) + stream_bits(config)),
                "read": Out(32),
                "open": Out(1),
                "pending": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        bits, count = word_bits(config), config.streams
        number = self.place[bits : bits + stream_bits(config)]
        held, opened, closed = (Signal(count, name=name) for name in ("held", "opened", "closed"))
        gathered = Signal(data.ArrayLayout(gathered_layout(config), count))
        self._store_words(m)
        late = self._wait(m, opened)
        mine = gathered[number]
        self._give(m, closed, gathered)
        is_open = opened.bit_select(number, 1)
        follows = is_open & (self.place == (mine.first + mine.words)[:PLACE_BITS])
        full = self.place[:bits].all()
        m.d.comb += self.taken.eq(self.store & ~self.close & (follows | ~held.bit_select(number, 1)))
        m.d.comb += [
            self.open.eq(opened.any()),
            self.pending.eq(closed.any() | self.o.valid),
            self.idle.eq(~held.any()),
        ]
        with m.If(self.free):
            m.d.sync += held.bit_select(self.freed, 1).eq(0)
        with m.If(self.taken):
            m.d.sync += [held.bit_select(number, 1).eq(1), mine.words.eq(1)]
            with m.If(follows):
                m.d.sync += mine.words.eq(mine.words + 1)
            with m.Else():
                m.d.sync += mine.first.eq(self.place)
        one, closes = Signal(count), Signal(count)
        m.d.comb += one.eq(1 << number)
        with m.If(self.close | late):
            m.d.comb += closes.eq(opened)
        with m.Elif(self.taken & ~follows):
            m.d.comb += closes.eq((opened & ~one) | Mux(full, one, 0))
        with m.Elif((self.taken & full) | (self.store & is_open & ~follows)):
            m.d.comb += closes.eq(one)
        m.d.sync += [
            opened.eq((opened | Mux(self.taken, one, 0)) & ~closes),
            closed.eq(self._left | closes),
        ]
        return m

    def _store_words(self, m):
        config = self.config
        m.submodules.words = words = memory.Memory(shape=32, depth=config.streams * config.stream_bytes // 4, init=[])
        write, read = words.write_port(), words.read_port()
        m.d.comb += [
            write.addr.eq(self.place),
            write.data.eq(self.word),
            write.en.eq(self.taken),
            read.addr.eq(self.index),
            self.read.eq(read.data),
        ]

    def _wait(self, m, opened):
        """High when there was no store for too long."""
        waited, late = Signal(range(self.config.stream_slots)), Signal()
        m.d.comb += late.eq(opened.any() & ~self.store & (waited == self.config.stream_slots - 1))
        m.d.sync += waited.eq(waited + 1)
        with m.If(self.store | ~opened.any()):
            m.d.sync += waited.eq(0)
        return late

    def _give(self, m, closed, gathered):
        """Output the closed buffer with the lowest number next. `_left`: those that stay."""
        gives, next_one = Signal(), Signal(range(self.config.streams))
        lowest = (closed & (~closed + 1))[: len(closed)]
        moves = ~gives | self.o.ready
        self._left = closed & ~(lowest & moves.replicate(len(closed)))
        m.d.comb += [self.o.valid.eq(gives), self.o.payload.eq(gathered[next_one])]
        with m.If(moves):
            m.d.sync += gives.eq(closed.any())
            with m.Switch(lowest):
                for n in range(self.config.streams):
                    with m.Case(1 << n):
                        m.d.sync += next_one.eq(n)
