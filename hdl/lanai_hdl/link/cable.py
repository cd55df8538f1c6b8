"""A cable: what lies between two ends of a link."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .flit import Kind, LinkPort


class Cable(wiring.Component):
    """One direction of a link with `latency` slots each way: flits go from `i` to `o`, `stop` comes
    back."""

    i: In(LinkPort())
    o: Out(LinkPort())

    def __init__(self, latency):
        if latency < 1:
            raise ValueError(f"a cable of {latency!r} slots is none; take at least 1")
        self.latency = latency
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        kind, data, stop = self.i.kind, self.i.data, self.o.stop
        for n in range(self.latency):
            kind_here, data_here, stop_here = (
                Signal(Kind, name=f"kind{n}"),
                Signal(32, name=f"data{n}"),
                Signal(name=f"stop{n}"),
            )
            m.d.sync += [kind_here.eq(kind), data_here.eq(data), stop_here.eq(stop)]
            kind, data, stop = kind_here, data_here, stop_here
        m.d.comb += [self.o.kind.eq(kind), self.o.data.eq(data), self.i.stop.eq(stop)]
        return m
