"""What a receiver knows of each sender: which request comes next, and how the last ones ended."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out

from .cleared import IN_BLOCK_RAM, ClearedMemory
from .packets import WINDOW, Status
from .parameters import RemoteParameters


class Place(enum.Enum, shape=2):
    """Where a request stands among those of its sender."""

    NEXT = 0
    DUPLICATE = 1  # one of the last WINDOW that were carried out
    AHEAD = 2  # neither: one before it is missing, or it is older


class Outcome(data.Struct):
    """How a request ended."""

    status: Status


class ReceiveOrder(wiring.Component):
    """Each request takes effect once and in its sender's order: only the next one may be carried
    out, and is then `accept`ed.

    Members
    -------
    source, sequence : ``In``, of a request
    place, status : ``Out``, where it stands; of a DUPLICATE how it ended. In the next slot.
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
        m.submodules.expected = expected = ClearedMemory(16, peers)
        m.submodules.outcomes = outcomes = ClearedMemory(Outcome, peers * WINDOW)
        # Not cleared: a request from before this reset, sent again, has lost its result anyhow.
        m.submodules.results = results = memory.Memory(shape=64, depth=max(peers, 2), init=[], attrs=IN_BLOCK_RAM)
        result_read, result_write = results.read_port(), results.write_port()
        recent = Cat(self.sequence[: (WINDOW - 1).bit_length()], self.source)
        behind = Signal(16)
        for one, address in ((expected, self.source), (outcomes, recent)):
            m.d.comb += [one.read(0)[0].eq(address), one.write_addr.eq(address)]
        m.d.comb += [
            self.ready.eq(expected.ready & outcomes.ready),
            self.ready_next.eq(expected.ready_next & outcomes.ready_next),
            behind.eq(expected.read(0)[1] - self.sequence),
            result_read.addr.eq(self.source),
            self.value.eq(result_read.data),
            expected.write_en.eq(self.accept),
            expected.write_data.eq(self.sequence + 1),
            outcomes.write_en.eq(self.accept),
            outcomes.write_data.status.eq(self.outcome),
            result_write.addr.eq(self.source),
            result_write.en.eq(self.accept & self.atomic),
            result_write.data.eq(self.result),
        ]
        m.d.sync += [
            self.place.eq(
                Mux(behind == 0, Place.NEXT, Mux(behind <= WINDOW, Place.DUPLICATE, Place.AHEAD)),
            ),
            self.status.eq(outcomes.read(0)[1].status),
        ]
        return m
