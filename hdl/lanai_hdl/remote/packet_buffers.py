"""Buffers for packets, which are kept until they have proved sound."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.deframer import Part, PartKind
from ..memory_attributes import ANY_ON_COLLISION
from .packets import REPLY_WORDS, REQUEST_WORDS
from .parameters import RemoteParameters

BUFFERS = 2


def longest_packet(config: RemoteParameters) -> int:
    """Words of the longest packet that is taken."""
    return REQUEST_WORDS + config.payload // 4 + 1


def buffer_words(config: RemoteParameters) -> int:
    return 1 << (longest_packet(config) - 1).bit_length()


def packet_members(config: RemoteParameters):
    """The members by which the oldest packet is read and released, seen from the buffers."""
    return {
        "full": Out(1),
        "words": Out(range(longest_packet(config) + 1)),
        "come": Out(range(longest_packet(config) + 1)),
        "arriving": Out(1),
        "release": In(1),
        "index": In(range(buffer_words(config))),
        "word": Out(32),
    }


class PacketBuffers(wiring.Component):
    """Two buffers for packets: one arrives while the other is served.

    Members
    -------
    i : ``In(stream)``, parts of packets. It waits only while both buffers are full.
    full : ``Out(1)``, a sound packet of `words` words waits; `release` gives its buffer back
    arriving, come : ``Out``, the packet that will be served next is not all there: `come` words of
        it are. It may yet prove unsound: then `arriving` falls, or `come` begins again.
    index, word : word `index` of that packet stands on `word` in the next slot
    damaged : ``Out(1)``, a slot's event: a packet was dropped for its CRC, its length or its end
    idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.longest = longest_packet(config)
        self.depth = buffer_words(config)
        super().__init__(
            {
                "i": In(stream.Signature(Part)),
                **packet_members(config),
                "damaged": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # A word that is not there yet is read again.
        words = BUFFERS * self.depth
        m.submodules.buffers = buffers = memory.Memory(shape=32, depth=words, init=[], attrs=ANY_ON_COLLISION)
        write, read = buffers.write_port(), buffers.read_port()
        part = self.i.payload
        full, sizes = Signal(BUFFERS), [Signal.like(self.words, name=f"size_{n}") for n in range(BUFFERS)]
        filling, serving = Signal(), Signal()
        count, long, inside = Signal.like(self.words), Signal(), Signal()
        taken, sound = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~full.bit_select(filling, 1)),
            taken.eq(self.i.valid & self.i.ready),
            write.addr.eq(Cat(count[: (self.depth - 1).bit_length()], filling)),
            write.data.eq(part.data),
            # `i.valid` is timing-critical. What is written without it is not a word of the packet yet,
            # and the next word replaces it.
            write.en.eq(self.i.ready & (part.kind == PartKind.WORD) & (count != self.longest)),
            read.addr.eq(Cat(self.index, serving)),
            self.word.eq(read.data),
            self.full.eq(full.bit_select(serving, 1)),
            self.words.eq(Mux(serving, sizes[1], sizes[0])),
            self.arriving.eq(inside & ~full.any()),
            self.come.eq(count),
            sound.eq(~part.bad_crc & ~part.truncated & ~long & (count >= REPLY_WORDS)),
            self.damaged.eq(taken & (part.kind == PartKind.END) & ~sound),
            self.idle.eq(~inside & ~full.any() & ~self.i.valid),
        ]
        with m.If(self.release):
            m.d.sync += [full.bit_select(serving, 1).eq(0), serving.eq(~serving)]
        with m.If(taken):
            with m.Switch(part.kind):
                with m.Case(PartKind.START):
                    m.d.sync += [count.eq(0), long.eq(0), inside.eq(1)]
                with m.Case(PartKind.WORD):
                    with m.If(count == self.longest):
                        m.d.sync += long.eq(1)
                    with m.Else():
                        m.d.sync += count.eq(count + 1)
                with m.Case(PartKind.END):
                    m.d.sync += inside.eq(0)
                    with m.If(sound):
                        m.d.sync += [full.bit_select(filling, 1).eq(1), filling.eq(~filling)]
                        for n, size in enumerate(sizes):
                            with m.If(filling == n):
                                m.d.sync += size.eq(count)
        return m
