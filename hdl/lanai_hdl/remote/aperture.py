"""The aperture: a part of the host's window in which stores become writes to a peer's memory, and
loads read it."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from .cleared_memory import ClearCounter
from .command_queue import COMMAND_BITS
from .entries import new_entry_shape
from .packets import Op, Status
from .parameters import RemoteParameters
from .streams import PLACE_BITS, StorePort, StreamBuffers, stream_bits, word_bits
from .tables import APERTURE_PAGE_BITS, APERTURE_WORD_BITS, MAP_WORDS, MapPlaceWord, MapWord


class Aperture(wiring.Component):
    """Gathers stores in stream buffers and makes a request of each closed buffer, and one of each load
    (SC-02).

    Each page of the aperture has a map, which its process writes: it says where at which peer the
    page lies. Reset makes all maps invalid. An access through a page without a map ends as
    `Status.INVALID`. The peer checks the rest, as of any request. A load that has failed gives all
    ones.

    Members
    -------
    host : ``In(StorePort())``. A write of a map, and a load, waits until all stores before it are
        requests.
    o : ``Out(stream)``, requests; `pending`: one is coming that must go before any command
    free, freed, index, read : of `StreamBuffers`
    answered : ``In(1)``, the load has ended with `status`, and read `word`
    ready_next : ``Out(1)``, in the next slot no map is left from before the reset. Until that slot
        there may be no access.
    idle : ``Out(1)``, nothing is stored or loaded that has not been answered
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.buffers = StreamBuffers(config)
        super().__init__(
            {
                "host": In(StorePort()),
                "o": Out(stream.Signature(new_entry_shape(config))),
                "pending": Out(1),
                "free": In(1),
                "freed": In(stream_bits(config)),
                "index": In(word_bits(config) + stream_bits(config)),
                "read": Out(32),
                "answered": In(1),
                "status": In(Status),
                "word": In(32),
                "ready_next": Out(1),
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
        made = Signal()  # the map of the closed buffer, or of the load, has been read
        asked = Signal()  # the load is a request
        mapped, loads, first = Signal(), Signal(), Signal(PLACE_BITS)
        m.d.comb += [
            buffers.store.eq(host.store),
            buffers.place.eq(host.place),
            buffers.word.eq(host.word),
            mapped.eq(host.map & ~buffers.open & ~buffers.pending),
            loads.eq(host.load & ~buffers.open & ~buffers.pending & ~asked),
            first.eq(Mux(loads, host.place, closed.first)),
            host.taken.eq(buffers.taken | mapped),
            host.loaded.eq(self.answered),
            host.value.eq(Mux(self.status == Status.OK, self.word, 0xFFFFFFFF)),
            buffers.close.eq(host.begins | host.map | host.load),
            buffers.free.eq(self.free),
            buffers.freed.eq(self.freed),
            buffers.index.eq(self.index),
            self.read.eq(buffers.read),
            self.pending.eq(buffers.pending | loads),
            self.idle.eq(buffers.idle & ~host.store & ~host.map & ~host.load),
            read.addr.eq(first[APERTURE_WORD_BITS:]),
            self.o.valid.eq(made),
            buffers.o.ready.eq(made & ~loads & self.o.ready),
        ]
        m.d.sync += made.eq((buffers.o.valid | loads) & ~(made & self.o.ready))
        with m.If(self.answered):
            m.d.sync += asked.eq(0)
        with m.Elif(made & loads & self.o.ready):
            m.d.sync += asked.eq(1)
        self._write_maps(m, write, mapped)
        self._request(m, loads, first, closed.words, read.data)
        return m

    def _write_maps(self, m, write, mapped):
        """The host writes half of a map; before that, each map is made invalid."""
        m.submodules.clearing = clearing = ClearCounter(1 << APERTURE_PAGE_BITS)
        host, ready = self.host, clearing.ready
        half = Signal(layout(MapWord))
        m.d.comb += [
            half.eq(host.word),
            half.valid.eq(host.word[layout(MapWord)["valid"].offset] & ready),
            self.ready_next.eq(clearing.ready_next),
            write.addr.eq(Mux(ready, host.place[APERTURE_WORD_BITS:], clearing.at)),
            write.data.eq(half.as_value().replicate(MAP_WORDS)),
            write.en.eq(Cat(~ready | (mapped & ~host.field), mapped & host.field)),
        ]

    def _request(self, m, loads, first, words, mapped):
        """The request of `words` words from word `first` on, or of the load of that word."""
        new, entry = self.o.payload, self.o.payload.entry
        target, place = layout(MapWord)(mapped[:32]), layout(MapPlaceWord)(mapped[32:])
        process = first[-len(entry.buffer) + COMMAND_BITS :]
        m.d.comb += [
            new.ended.eq(~target.valid | (target.peer >= self.config.peers)),
            new.status.eq(Status.INVALID),
            entry.stored.eq(1),
            entry.buffer.eq(Cat(Const(0, COMMAND_BITS), process)),
            entry.peer.eq(target.peer),
            entry.op.eq(Mux(loads, Op.READ, Op.WRITE)),
            entry.atomic.eq(target.relaxed),
            entry.exposure.eq(target.exposure),
            entry.key.eq(place.key),
            entry.offset.eq(Cat(Const(0, 2), first[:APERTURE_WORD_BITS], place.page)),
            entry.length.eq(Mux(loads, 1, words) << 2),
        ]
