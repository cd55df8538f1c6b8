"""Flits become symbols for the pins."""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from .symbols import BYTE, CONTROL, ROUTE_INITIAL, Control, Symbol, step

REPEAT = 8  # flits behind flow control at most
LATE = 6  # slots at most from a change of `stop` to the symbol that tells it


class PhyTransmitter(wiring.Component):
    """Sends training, flow control, and flits while the other side takes them.

    A flit outside a packet, as what is left of one that was cut, is dropped; so is every flit without a link.

    Members
    -------
    i : ``In(stream.Signature(Flit))``
    locked, heard : ``In(1)``, as the docstring of this folder says
    stop : ``In(1)``, ours: no more flits are wanted
    stopped : ``In(1)``, the other side's
    o : ``Out(Symbol)``, registered
    """

    i: In(stream.Signature(Flit))
    locked: In(1)
    heard: In(1)
    stop: In(1)
    stopped: In(1)
    o: Out(Symbol)

    def __init__(self):
        self.bytes_left = Signal(range(6))  # of a flit
        self.told = Signal()  # as the last flow control told
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        bytes_left, told = self.bytes_left, self.told
        flit, taken = self.i.payload, Signal()
        routes = Signal()  # the flit is a HEAD, which ends with its check
        rest, check = Signal(32), Signal(8)
        inside, since = Signal(), Signal(range(REPEAT + 1), init=REPEAT)
        carried, phase = Signal(), Signal(range(3))
        m.d.comb += [
            carried.eq(self.locked & self.heard),
            taken.eq(self.i.valid & (inside | (flit.kind == Kind.HEAD))),
        ]
        with m.If(~carried):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += inside.eq(0)
        with m.If(bytes_left != 0):
            byte = Mux(routes & (bytes_left == 1), check, rest[24:])
            m.d.sync += [
                self._byte(byte),
                check.eq(step(check, byte)),
                rest.eq(rest << 8),
                bytes_left.eq(bytes_left - 1),
            ]
        with m.Elif(~carried):
            second = Mux(self.locked, Control.HEARD.value, Control.MARK.value)
            m.d.sync += [
                self._control(Array([Control.TRAIN.value, second, Control.THIRD.value])[phase]),
                phase.eq(Mux(phase == 2, 0, phase + 1)),
            ]
        with m.Elif((told != self.stop) | (since == REPEAT) | self.stopped | ~taken):
            flow = Mux(
                inside,
                Mux(self.stop, Control.STOP.value, Control.GO.value),
                Mux(self.stop, Control.REST_STOP.value, Control.REST.value),
            )
            m.d.sync += [self._control(flow), told.eq(self.stop), since.eq(0)]
            m.d.comb += self.i.ready.eq(~taken)  # a stray
        with m.Else():
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += [
                since.eq(since + 1),
                inside.eq(flit.kind != Kind.TAIL),
                routes.eq(flit.kind == Kind.HEAD),
                check.eq(ROUTE_INITIAL),
                rest.eq(flit.data),
                bytes_left.eq(4),
            ]
            with m.Switch(flit.kind):
                with m.Case(Kind.HEAD):
                    m.d.sync += [self._control(Control.HEAD.value), bytes_left.eq(5)]
                with m.Case(Kind.TAIL):
                    m.d.sync += self._control(Control.TAIL.value)
                with m.Case(Kind.CHECK):
                    m.d.sync += self._control(Control.CHECK.value)
                with m.Default():
                    m.d.sync += [self._byte(flit.data[24:]), rest.eq(flit.data << 8), bytes_left.eq(3)]
        return m

    def _control(self, value):
        return [self.o.control.eq(CONTROL), self.o.data.eq(value)]

    def _byte(self, value):
        return [self.o.control.eq(BYTE), self.o.data.eq(value)]
