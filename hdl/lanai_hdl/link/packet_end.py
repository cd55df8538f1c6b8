"""Ends the packet that a NIC had begun to send when it was reset."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .flit import Flit, Kind


class PacketEnd(wiring.Component):
    """Stands before the transmitter of a NIC whose packets no firmware ends.

    A packet holds its path through the switches until its TAIL, and its receiver waits for the rest. So
    if a reset of the NIC cuts a packet, a TAIL with a wrong CRC is sent after the reset, before any other
    flit. Flits pass without latency.

    The NIC's reset does not reset this component.

    Members
    -------
    i, o : streams of flits
    reset : ``In(1)``, the NIC is being reset
    up : ``In(1)``, the carrier: where it falls a packet ends, as its receiver sees it
    kind : ``In(Kind)``, the flit on the wire
    """

    i: In(stream.Signature(Flit))
    o: Out(stream.Signature(Flit))
    reset: In(1)
    up: In(1)
    kind: In(Kind)

    def elaborate(self, platform):
        m = Module()
        before, inside = Signal(), Signal()  # a HEAD was on the wire and its TAIL was not: before this slot, with it
        cut = Signal()
        m.d.comb += [
            inside.eq(self.up & ((self.kind == Kind.HEAD) | (before & (self.kind != Kind.TAIL)))),
            self.o.valid.eq(self.i.valid | cut),
            self.o.payload.eq(self.i.payload),
            self.i.ready.eq(self.o.ready & ~cut),
        ]
        with m.If(cut):
            m.d.comb += [self.o.payload.kind.eq(Kind.TAIL), self.o.payload.data[0].eq(1)]  # 1: spoils the CRC
        m.d.sync += before.eq(inside)
        with m.If(self.reset):  # what the transmitter takes in a slot of the reset does not reach the wire
            m.d.sync += cut.eq(inside)
        with m.Elif(self.o.ready):
            m.d.sync += cut.eq(0)
        return m
