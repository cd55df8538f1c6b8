"""The arbiter of an output: round robin among the inputs, held until the holder lets go."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..round_robin import next_in_turn


class HoldingArbiter(wiring.Component):
    """Grants one requester at a time and lets it keep the grant for as long as it asks.

    Fairness: after a holder lets go, the requester next in line behind it (in cyclic order of
    index) is served, so that a steady requester waits for at most one packet of each other input.

    Parameters
    ----------
    requesters : number of requesters, at least 1

    Members
    -------
    request : ``In(requesters)``; bit i held high from asking until the packet has passed
    grant : ``Out(requesters)``, at most one bit, registered: a free output is granted in the slot
        after the request
    """

    def __init__(self, requesters: int):
        if requesters < 1:
            raise ValueError(f"requesters={requesters!r} must be at least 1")
        self._requesters = requesters
        super().__init__({"request": In(requesters), "grant": Out(requesters)})

    def elaborate(self, platform):
        m = Module()
        count = self._requesters
        last = Signal(range(max(count, 2)))
        held = Signal()
        m.d.comb += held.eq((self.grant & self.request).any())

        chosen = next_in_turn(m, self.request, last)
        with m.If(~held):
            m.d.sync += [self.grant.eq(self.request & (1 << chosen)), last.eq(chosen)]
        return m
