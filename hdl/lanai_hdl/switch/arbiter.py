"""The arbiter of an output: round robin among the inputs, held until the holder lets go."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


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

        # Candidates behind `last` come first; failing those, the lowest index.
        behind = Signal(count)
        for i in range(count):
            m.d.comb += behind[i].eq(self.request[i] & (i > last))
        candidates = Signal(count)
        m.d.comb += candidates.eq(Mux(behind.any(), behind, self.request))

        with m.If(~held):
            m.d.sync += self.grant.eq(candidates & (~candidates + 1)[:count])  # the lowest set bit
            for i in reversed(range(count)):
                with m.If(candidates[i]):
                    m.d.sync += last.eq(i)
        return m
