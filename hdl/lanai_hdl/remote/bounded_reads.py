"""Reads of host memory for packets, bounded to the run that a lookup has allowed."""

from amaranth import Cat, Const, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..host_bus.ports import Burst
from ..host_dma.cutter import BurstCutter
from .bounded_burst import BoundedBurst
from .lookup_port import LENGTH_BITS


class BoundedReads(wiring.Component):
    """Reads the bytes that the last lookup has allowed, in bursts as `BurstCutter` makes them.

    No address comes from anywhere else: the bursts cover exactly the words that the run touches, each
    once and in order, and nothing is written. A proof holds this (tests/hdl/remote/test_bounded_reads.py).

    Members
    -------
    located, allowed, address, length : as `BoundedBurst` has them
    read : ``In(1)``, begins the bursts over the run, if there is one. There may be no other read, and
        no other run, until all of them have been taken.
    burst : ``Out(stream)``, the first one two slots after `read`

    Attributes, for proofs: `run`, `cutter`.
    """

    located: In(1)
    allowed: In(1)
    address: In(32)
    length: In(LENGTH_BITS)
    read: In(1)
    burst: Out(stream.Signature(Burst))

    def __init__(self, config: NicConfig):
        self.run, self.cutter = BoundedBurst(), BurstCutter(config)
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.run = run = self.run
        m.submodules.cutter = cutter = self.cutter
        whole = run.burst.payload
        for name in ("located", "allowed", "address", "length", "read"):
            m.d.comb += getattr(run, name).eq(getattr(self, name))
        m.d.comb += [
            run.burst.ready.eq(1),
            cutter.load.eq(run.begun),
            cutter.addr.eq(Cat(Const(0, 2), whole.word)),
            cutter.length.eq(Cat(Const(0, 2), whole.words)),
        ]
        wiring.connect(m, cutter.o, wiring.flipped(self.burst))
        return m
