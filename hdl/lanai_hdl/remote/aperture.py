"""The aperture: a part of the host's window in which stores become writes to a peer's memory."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..word_layout import layout
from .packets import Op, Status
from .parameters import RemoteParameters
from .sequencer import NewEntry
from .streams import StorePort, StreamBuffers, stream_bits, word_bits
from .tables import APERTURE_PAGE_BITS, APERTURE_WORD_BITS, MAP_WORDS, MapPlaceWord, MapWord
from .window import COMMAND_BITS


class Aperture(wiring.Component):
    """Gathers stores in stream buffers and makes a request of each closed buffer.

    Each page of the aperture has a map, which its process writes: it says where at which peer the
    page lies. A store through a page without one ends as `Status.INVALID`. The peer checks the rest,
    as of any request.

    Members
    -------
    host : ``In(StorePort())``. A write of a map waits until all stores before it are requests.
    o : ``Out(stream)``, requests; `pending`: one is coming that must go before any command
    free, freed, index, read : of `StreamBuffers`
    idle : ``Out(1)``, nothing is stored that has not been answered
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.buffers = StreamBuffers(config)
        super().__init__(
            {
                "host": In(StorePort()),
                "o": Out(stream.Signature(NewEntry)),
                "pending": Out(1),
                "free": In(1),
                "freed": In(stream_bits(config)),
                "index": In(word_bits(config) + stream_bits(config)),
                "read": Out(32),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        host = self.host
        m.submodules.buffers = buffers = self.buffers
        m.submodules.maps = maps = memory.Memory(shape=32 * MAP_WORDS, depth=1 << APERTURE_PAGE_BITS, init=[])
        write, read = maps.write_port(granularity=32), maps.read_port()
        closed = buffers.o.payload
        made = Signal()  # the closed buffer's map has been read
        mapped = Signal()
        m.d.comb += [
            buffers.store.eq(host.store),
            buffers.place.eq(host.place),
            buffers.word.eq(host.word),
            mapped.eq(host.map & ~buffers.open & ~buffers.pending),
            host.taken.eq(buffers.taken | mapped),
            buffers.close.eq(host.begins | host.map),
            buffers.free.eq(self.free),
            buffers.freed.eq(self.freed),
            buffers.index.eq(self.index),
            self.read.eq(buffers.read),
            self.pending.eq(buffers.pending),
            self.idle.eq(buffers.idle & ~host.store & ~host.map),
            write.addr.eq(host.place[APERTURE_WORD_BITS:]),
            write.data.eq(host.word.replicate(MAP_WORDS)),
            write.en.eq(Cat(mapped & ~host.field, mapped & host.field)),
            read.addr.eq(closed.first[APERTURE_WORD_BITS:]),
            self.o.valid.eq(made),
            buffers.o.ready.eq(made & self.o.ready),
        ]
        m.d.sync += made.eq(buffers.o.valid & ~(made & self.o.ready))
        self._request(m, closed, read.data)
        return m

    def _request(self, m, closed, mapped):
        new, entry = self.o.payload, self.o.payload.entry
        target, place = layout(MapWord)(mapped[:32]), layout(MapPlaceWord)(mapped[32:])
        process = closed.first[-len(entry.buffer) + COMMAND_BITS :]
        m.d.comb += [
            new.ended.eq(~target.valid | (target.peer >= self.config.peers)),
            new.status.eq(Status.INVALID),
            entry.stored.eq(1),
            entry.buffer.eq(Cat(Const(0, COMMAND_BITS), process)),
            entry.peer.eq(target.peer),
            entry.op.eq(Op.WRITE),
            entry.exposure.eq(target.exposure),
            entry.key.eq(place.key),
            entry.offset.eq(Cat(Const(0, 2), closed.first[:APERTURE_WORD_BITS], place.page)),
            entry.length.eq(closed.words << 2),
        ]
