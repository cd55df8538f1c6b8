"""Bytes on a wire: 8 data bits, no parity, one stop bit."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out


def _check_divisor(divisor: int) -> None:
    if divisor < 4:
        raise ValueError(f"divisor={divisor!r} must be at least 4 clocks a bit")


class SerialTransmitter(wiring.Component):
    """Sends each byte as start bit, 8 bits from the lowest, stop bit, `divisor` clocks each.

    Members
    -------
    i : ``In(stream of 8)``
    tx : ``Out(1)``, registered, high while idle
    """

    def __init__(self, divisor: int):
        _check_divisor(divisor)
        self._divisor = divisor
        super().__init__({"i": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        frame = Signal(9, init=0x1FF)  # what follows the bit now on the wire
        left = Signal(range(11))  # bits still to be on the wire, the present one included
        timer = Signal(range(self._divisor))
        m.d.comb += self.i.ready.eq(left == 0)
        with m.If(left == 0):
            with m.If(self.i.valid):
                m.d.sync += [
                    self.tx.eq(0),
                    frame.eq(Cat(self.i.payload, Const(1, 1))),
                    left.eq(10),
                    timer.eq(self._divisor - 1),
                ]
        with m.Elif(timer == 0):
            m.d.sync += [
                self.tx.eq(Mux(left == 1, 1, frame[0])),
                frame.eq(Cat(frame[1:], Const(1, 1))),
                left.eq(left - 1),
                timer.eq(self._divisor - 1),
            ]
        with m.Else():
            m.d.sync += timer.eq(timer - 1)
        return m


class SerialReceiver(wiring.Component):
    """Receives what `SerialTransmitter` sends, sampling each bit in its middle.

    A byte that is not taken before the next one is complete is lost, and a byte without its stop
    bit is discarded; both raise `error` for one clock.

    Members
    -------
    rx : ``In(1)``, asynchronous
    o : ``Out(stream of 8)``
    error : ``Out(1)``
    """

    def __init__(self, divisor: int):
        _check_divisor(divisor)
        self._divisor = divisor
        super().__init__({"rx": In(1, init=1), "o": Out(stream.Signature(8)), "error": Out(1)})

    def elaborate(self, platform):
        m = Module()
        rx = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.rx, rx, init=1)
        timer = Signal(range(self._divisor + self._divisor // 2))
        bits = Signal(8)
        count = Signal(range(9))

        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(~rx):
                # The first sample comes one and a half bits after the edge.
                m.d.sync += [timer.eq(self._divisor + self._divisor // 2 - 1), count.eq(0)]
                m.next = "DATA"
            with m.State("DATA"), m.If(timer == 0):
                m.d.sync += [bits.eq(Cat(bits[1:], rx)), count.eq(count + 1), timer.eq(self._divisor - 1)]
                with m.If(count == 7):
                    m.next = "STOP"
            with m.State("STOP"), m.If(timer == 0):
                m.d.comb += self.error.eq(~rx | (self.o.valid & ~self.o.ready))
                with m.If(rx & ~(self.o.valid & ~self.o.ready)):
                    m.d.sync += [self.o.valid.eq(1), self.o.payload.eq(bits)]
                m.next = "REST"
            with m.State("REST"), m.If(rx):  # a line held low starts no byte
                m.next = "IDLE"
        return m
