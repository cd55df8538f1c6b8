"""What a receiver knows of each sender: which request comes next, and how the last ones ended."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out

from .cleared import IN_BLOCK_RAM, ClearedMemory
from .packets import WINDOW, Status
from .parameters import RemoteParameters

INDEX_BITS = (WINDOW - 1).bit_length()


class Place(enum.Enum, shape=2):
    """Where a request stands among those of its sender."""

    NEXT = 0
    DUPLICATE = 1  # one of the last WINDOW that were carried out
    AHEAD = 2  # one before it is missing, or it is older
    EARLY = 3  # one before it is missing; it is within WINDOW of that, and may be carried out if it is RELAXED


class Outcome(data.Struct):
    """How a request ended."""

    status: Status


class Progress(data.Struct):
    """Of a sender's requests: the first that has not been carried out, and which of the next ones
    have been, a bit for each sequence number modulo `WINDOW`."""

    expected: 16
    done: WINDOW


class ReceiveOrder(wiring.Component):
    """Each request takes effect once, and in its sender's order unless it is RELAXED: the next one, or
    an EARLY one, is carried out and then `accept`ed.

    When the one that was missing has been carried out, `expected` moves on over those that have been
    before it, one a slot, while a request of that sender stands at `source`.

    Members
    -------
    source, sequence : ``In``, of a request
    catching_up : ``Out(1)``, `expected` of this sender moves on in this slot. Nothing is accepted then.
    place, status : ``Out``, where it stands; of a DUPLICATE how it ended. In the next slot; of
        `place` in the slot after one without `catching_up`.
    value : ``Out``, of a DUPLICATE the result of its sender's last ATOMIC. In the next slot; in the
        slot after `accept` it may be anything.
    accept : ``In(1)``, the request has been carried out and ended with `outcome`; `result` is kept
        with `atomic`
    ready, ready_next : ``Out(1)``, cleared since reset; so in the next slot
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "source": In(8),
                "sequence": In(16),
                "catching_up": Out(1),
                "place": Out(Place),
                "status": Out(Status),
                "value": Out(64),
                "accept": In(1),
                "outcome": In(Status),
                "atomic": In(1),
                "result": In(64),
                "ready": Out(1),
                "ready_next": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        peers = self.config.peers
        m.submodules.progress = progress = ClearedMemory(Progress, peers)
        m.submodules.outcomes = outcomes = ClearedMemory(Outcome, peers * WINDOW)
        # Not cleared: a request from before this reset, sent again, has lost its result anyhow.
        m.submodules.results = results = memory.Memory(shape=64, depth=max(peers, 2), init=[], attrs=IN_BLOCK_RAM)
        result_read, result_write = results.read_port(), results.write_port()
        recent = Cat(self.sequence[:INDEX_BITS], self.source)
        for one, address in ((progress, self.source), (outcomes, recent)):
            m.d.comb += [one.read(0)[0].eq(address), one.write_addr.eq(address)]
        m.d.comb += [
            self.ready.eq(progress.ready & outcomes.ready),
            self.ready_next.eq(progress.ready_next & outcomes.ready_next),
            result_read.addr.eq(self.source),
            self.value.eq(result_read.data),
            outcomes.write_en.eq(self.accept),
            outcomes.write_data.status.eq(self.outcome),
            result_write.addr.eq(self.source),
            result_write.en.eq(self.accept & self.atomic),
            result_write.data.eq(self.result),
        ]
        m.d.sync += self.status.eq(outcomes.read(0)[1].status)
        self._find_place(m, progress.read(0)[1])
        self._go_on(m, progress)
        return m

    def _find_place(self, m, now):
        behind, before, done = Signal(16), Signal(), Signal()
        m.d.comb += [
            behind.eq(now.expected - self.sequence),
            # The first that is missing is less than WINDOW before it.
            before.eq(behind[INDEX_BITS:].all() & behind[:INDEX_BITS].any()),
            done.eq(now.done.bit_select(self.sequence[:INDEX_BITS], 1)),
        ]
        carried_out = (behind <= WINDOW) | (before & done)
        missing = Mux(before, Place.EARLY, Place.AHEAD)
        m.d.sync += self.place.eq(Mux(behind == 0, Place.NEXT, Mux(carried_out, Place.DUPLICATE, missing)))

    def _go_on(self, m, progress):
        """What is kept of the sender changes: one more has been carried out, or `expected` moves on."""
        now, after = progress.read(0)[1], progress.write_data
        first = Signal(WINDOW)
        m.d.comb += [
            first.eq(1 << now.expected[:INDEX_BITS]),
            self.catching_up.eq((now.done & first).any()),
            progress.write_en.eq(self.accept | self.catching_up),
            after.expected.eq(now.expected + 1),
            after.done.eq(now.done & ~first),
        ]
        with m.If(~self.catching_up & (self.place == Place.EARLY)):
            m.d.comb += [
                after.expected.eq(now.expected),
                after.done.eq(now.done | (1 << self.sequence[:INDEX_BITS])),
            ]
