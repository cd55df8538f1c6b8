"""A link with the barrier tree on it: tap and end in one, for a NIC and for each port of a switch."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..link.flit import LinkPort
from ..run_time import numbers
from .csr import BITS
from .end import BarrierEnd, timeout
from .tap import LinkTap

LINKS = {"wire_tx": Out(LinkPort()), "wire_rx": In(LinkPort()), "tx": In(LinkPort()), "rx": Out(LinkPort())}


class BarrierPort(wiring.Component):
    """Members: the links of `LinkTap`, and all but the flits of `BarrierEnd`."""

    def __init__(self, config: NicConfig):
        self._config = config
        ends = {"theirs": Out(BITS), **dict.fromkeys(("theirs_failed", "lost", "resent", "damaged", "idle"), Out(1))}
        super().__init__({**LINKS, "mine": In(BITS), "failed": In(1), **ends})

    def elaborate(self, platform):
        m = Module()
        m.submodules.tap = tap = LinkTap(self._config)
        m.submodules.end = end = BarrierEnd(timeout(numbers(self._config, platform)))
        for name in LINKS:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(tap, name))
        wiring.connect(m, end.o, tap.i)
        wiring.connect(m, tap.received, end.received)
        m.d.comb += [end.mine.eq(self.mine), end.failed.eq(self.failed), self.idle.eq(tap.idle & end.idle)]
        for name in ("theirs", "theirs_failed", "lost", "resent", "damaged"):
            m.d.comb += getattr(self, name).eq(getattr(end, name))
        return m
