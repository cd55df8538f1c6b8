"""The slots in which processes ask about messages, and those that wait to be served."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..memory_attributes import ANY_ON_COLLISION
from ..queue import Queue
from .messages import SLOT_BITS, SLOT_WORDS, SLOTS, AskWord, NameWord, WantWord
from .parameters import RemoteParameters

START = SLOT_WORDS - 1  # the word that starts what a slot asks


class SlotWrite(wiring.Signature):
    """With `write` the host writes word `field` of `slot` of process `owner`."""

    def __init__(self):
        super().__init__({"write": Out(1), "owner": Out(3), "slot": Out(SLOT_BITS), "field": Out(2), "word": Out(32)})


class SlotWords(data.Struct):
    """The words of a slot, from the first on."""

    want: layout(WantWord)
    name: layout(NameWord)
    offset: 32
    ask: layout(AskWord)


class MatchSlots(wiring.Component):
    """Keeps the words of all slots, and the order in which they were started.

    A process that starts more than it has slots loses what is too much, and others nothing. It may overwrite a
    slot that waits: that spoils what it has asked itself.

    Members
    -------
    host : ``In(SlotWrite())``
    lost : ``Out(1)``, a slot's event: what the host has started is lost
    o : ``Out(stream)``, the next one to be served: slot, with its process above
    at : ``In``, a slot as in `o`; `words` : ``Out``, its words in the next slot
    idle : ``Out(1)``, none waits
    """

    def __init__(self, config: RemoteParameters):
        self.processes = config.processes
        self.owner_bits = (config.processes - 1).bit_length()
        place = SLOT_BITS + self.owner_bits
        super().__init__(
            {
                "host": In(SlotWrite()),
                "lost": Out(1),
                "o": Out(stream.Signature(place)),
                "at": In(place),
                "words": Out(SlotWords),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        host, depth = self.host, self.processes * SLOTS
        shape = data.ArrayLayout(32, SLOT_WORDS)
        m.submodules.storage = storage = memory.Memory(shape=shape, depth=depth, init=[], attrs=ANY_ON_COLLISION)
        m.submodules.waiting = waiting = Queue(len(self.at), depth)
        write, read = storage.write_port(granularity=1), storage.read_port()
        place, starts, put = Cat(host.slot, host.owner[: self.owner_bits]), Signal(), Signal()
        held = Signal(data.ArrayLayout(range(SLOTS + 1), self.processes))  # of each process, that wait
        mine = held[host.owner[: self.owner_bits]] if self.owner_bits else held[0]
        m.d.comb += [
            write.addr.eq(place),
            write.data.eq(host.word.replicate(SLOT_WORDS)),
            write.en.eq(host.write.replicate(SLOT_WORDS) & (1 << host.field)),
            read.addr.eq(self.at),
            self.words.eq(read.data.as_value()),
            starts.eq(host.write & (host.field == START) & (mine != SLOTS)),
            self.lost.eq(host.write & (host.field == START) & (mine == SLOTS)),
            waiting.i.valid.eq(put),
            self.idle.eq(~put & (waiting.level == 0)),
        ]
        wiring.connect(m, waiting.o, wiring.flipped(self.o))
        m.d.sync += put.eq(starts)
        with m.If(starts):
            m.d.sync += waiting.i.payload.eq(place)
        taken = self.o.valid & self.o.ready
        for process in range(self.processes):
            one = held[process]
            joins = starts & self._is_of(place, process)
            leaves = taken & self._is_of(self.o.payload, process)
            m.d.sync += one.eq(one + joins - leaves)
        return m

    def _is_of(self, place, process):
        return place[SLOT_BITS:] == process if self.owner_bits else 1
