"""Symbols from the pins become flits."""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..link.flit import Flit, Kind
from .symbols import BYTE, CONTROL, ROUTE_INITIAL, Control, Symbol, step

LOCK = 64  # training symbols in a row
TRAINS_AGAIN = 4  # training symbols in a row by which the other side has lost us
BAD, BURST = 64, 512  # an unknown symbol counts as much, each other one takes 1 away; at so many the lock is lost
SPOILT = 0x5AFEC0DE  # in the place of the CRC of a packet whose TAIL was lost


class Events(data.Struct):
    """Events of a slot."""

    bad: 1  # an unknown symbol
    cut: 1  # a flit, or a packet's TAIL, was lost
    misrouted: 1  # a HEAD whose route word does not fit its check: its packet is dropped


class PhyReceiver(wiring.Component):
    """Finds the lock, and the flits in the symbols.

    A symbol in the midst of a flit that is no known control symbol counts as a byte of it, so that the flits behind
    it stay in step; the CRC of its packet judges it. Flits outside a packet are dropped.

    Members
    -------
    i : ``In(Symbol)``, from the pins
    locked, heard : ``Out(1)``, as the docstring of this folder says
    stops : ``Out(1)``, the other side wants no more flits
    write, flit : ``Out(1)``, ``Out(Flit)``, a flit in this slot, three slots after its last symbol
    events : ``Out(Events)``
    """

    i: In(Symbol)
    locked: Out(1)
    heard: Out(1)
    stops: Out(1)
    write: Out(1)
    flit: Out(Flit)
    events: Out(Events)

    def __init__(self):
        self.pins = Signal(Symbol)  # the symbol looked at
        self.phase = Signal(2)  # symbols since a THIRD, 3 at most
        self.control, self.known, self.trains = Signal(), Signal(), Signal()  # what it is
        self.run, self.bucket = Signal(range(LOCK + 1)), Signal(range(BURST + BAD))  # training in a row; unknown ones
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        pins = self.pins
        m.d.sync += pins.eq(self.i)
        with m.If(pins.control == CONTROL):
            with m.Switch(pins.data):
                with m.Case(*(one.value for one in Control)):
                    m.d.comb += self.control.eq(1)
        m.d.comb += [
            self.known.eq(self.control | self.locked & (pins.control == BYTE)),
            self.trains.eq(
                self.control
                & Array(
                    [
                        pins.data == Control.TRAIN.value,
                        (pins.data == Control.MARK.value) | (pins.data == Control.HEARD.value),
                        pins.data == Control.THIRD.value,
                        0,
                    ]
                )[self.phase]
            ),
            self.events.bad.eq(~self.known),
        ]
        self._lock(m, pins)
        self._flits(m, pins)
        return m

    def _lock(self, m, pins):
        """Training in a row locks; unknown symbols that come often undo it."""
        run, bucket = self.run, self.bucket
        lost = ~self.known & (bucket >= BURST)
        with m.If(self.control & (pins.data == Control.THIRD.value)):
            m.d.sync += self.phase.eq(0)
        with m.Elif(self.phase != 3):
            m.d.sync += self.phase.eq(self.phase + 1)
        with m.If(~self.trains | lost):
            m.d.sync += run.eq(0)
        with m.Elif(run != LOCK):
            m.d.sync += run.eq(run + 1)
        with m.If(lost):
            m.d.sync += [self.locked.eq(0), self.heard.eq(0), bucket.eq(0)]
        with m.Elif(~self.known):
            m.d.sync += bucket.eq(bucket + BAD)
        with m.Else():
            with m.If(bucket != 0):
                m.d.sync += bucket.eq(bucket - 1)
            with m.If(self.trains & (run >= LOCK - 1)):
                m.d.sync += self.locked.eq(1)
            with m.If(self.control):
                with m.Switch(pins.data):
                    with m.Case(Control.TRAIN.value, Control.THIRD.value):
                        pass
                    with m.Case(Control.MARK.value):
                        with m.If(self.trains & (run >= TRAINS_AGAIN - 1)):
                            m.d.sync += self.heard.eq(0)
                    with m.Default():
                        m.d.sync += self.heard.eq(self.locked)

    def _flits(self, m, pins):
        kind, word, left = Signal(Kind), Signal(32), Signal(range(6))  # of the flit that comes; its bytes to come
        check, inside = Signal(8), Signal()  # of a HEAD's bytes; a packet
        next_word, last, ends = Signal(32), Signal(), Signal()
        begins = Signal(Kind)
        m.d.comb += [
            next_word.eq(Cat(pins.data, word[:24])),
            last.eq(left == 1),
            begins.eq(Kind.IDLE),
        ]
        m.d.sync += self.write.eq(0)
        with m.If(~self.locked):
            m.d.sync += [left.eq(0), inside.eq(0)]
        with m.Elif(self.control):
            with m.Switch(pins.data):
                with m.Case(Control.HEAD.value):
                    m.d.comb += [begins.eq(Kind.HEAD), ends.eq(1)]
                with m.Case(Control.TAIL.value):
                    m.d.comb += begins.eq(Kind.TAIL)
                with m.Case(Control.CHECK.value):
                    m.d.comb += begins.eq(Kind.CHECK)
                with m.Case(Control.REST.value, Control.REST_STOP.value):
                    m.d.comb += ends.eq(1)
                    m.d.sync += self.stops.eq(pins.data == Control.REST_STOP.value)
                with m.Case(Control.GO.value, Control.STOP.value):
                    m.d.sync += self.stops.eq(pins.data == Control.STOP.value)
            m.d.sync += [
                kind.eq(begins),
                check.eq(ROUTE_INITIAL),
                left.eq(Mux(begins == Kind.IDLE, 0, Mux(begins == Kind.HEAD, 5, 4))),
            ]
            m.d.comb += self.events.cut.eq((left != 0) | ends & inside)
            with m.If(ends & inside):
                m.d.sync += [inside.eq(0), self.write.eq(1), self.flit.kind.eq(Kind.TAIL), self.flit.data.eq(SPOILT)]
        with m.Else():
            m.d.sync += [word.eq(next_word), check.eq(step(check, pins.data)), left.eq(left - 1)]
            with m.If(left == 0):
                m.d.sync += [kind.eq(Kind.DATA), left.eq(3)]
            with m.If(last & (kind == Kind.HEAD)):
                sound = check == pins.data
                m.d.comb += self.events.misrouted.eq(~sound)
                m.d.sync += [inside.eq(sound), self.write.eq(sound)]
                m.d.sync += [self.flit.kind.eq(Kind.HEAD), self.flit.data.eq(word)]
            with m.Elif(last):
                m.d.sync += [self.write.eq(inside), self.flit.kind.eq(kind), self.flit.data.eq(next_word)]
                with m.If(kind == Kind.TAIL):
                    m.d.sync += inside.eq(0)
