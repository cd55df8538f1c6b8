"""What a receiver knows of each sender: which request comes next, and how the last ones ended."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from .cleared import ClearedMemory
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
    place, status, value : ``Out``, where it stands; of a DUPLICATE how it ended, and the result of
        the last ATOMIC. Within the slot.
    accept : ``In(1)``, the request has been carried out and ended with `outcome`; `result` is kept
        with `atomic`
    ready : ``Out(1)``, cleared since reset
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
            }
        )

    def elaborate(self, platform):
        m = Module()
        peers = self.config.peers
        m.submodules.expected = expected = ClearedMemory(16, peers)
        m.submodules.outcomes = outcomes = ClearedMemory(Outcome, peers * WINDOW)
        m.submodules.results = results = ClearedMemory(64, peers)
        recent = Cat(self.sequence[: (WINDOW - 1).bit_length()], self.source)
        behind = Signal(16)
        for one, address in ((expected, self.source), (outcomes, recent), (results, self.source)):
            m.d.comb += [one.read(0)[0].eq(address), one.write_addr.eq(address)]
        m.d.comb += [
            self.ready.eq(expected.ready & outcomes.ready & results.ready),
            behind.eq(expected.read(0)[1] - self.sequence),
            self.place.eq(
                Mux(behind == 0, Place.NEXT, Mux(behind <= WINDOW, Place.DUPLICATE, Place.AHEAD)),
            ),
            self.status.eq(outcomes.read(0)[1].status),
            self.value.eq(results.read(0)[1]),
            expected.write_en.eq(self.accept),
            expected.write_data.eq(self.sequence + 1),
            outcomes.write_en.eq(self.accept),
            outcomes.write_data.status.eq(self.outcome),
            results.write_en.eq(self.accept & self.atomic),
            results.write_data.eq(self.result),
        ]
        return m
