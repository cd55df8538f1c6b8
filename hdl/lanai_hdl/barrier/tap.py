"""Puts control flits on a link and takes them off it."""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..link.flit import Kind, LinkPort
from ..run_time import numbers, up_to
from .flit import BarrierKind, ControlFlit, ControlPort


class LinkTap(wiring.Component):
    """Stands between a link and the transmitter and receiver of packets.

    Control flits have no part in STOP: they go before packets' flits, and no FIFO holds them. So a
    link that stands still for packets carries them. They keep to the link's rate.

    Members
    -------
    wire_tx, wire_rx : the link
    tx, rx : the link as transmitter and receiver see it; what passes takes no time
    i : control flits to send, one in the slot after it is taken
    received : control flits that stand on `wire_rx` in this slot, and whether there is no carrier
    idle : ``Out(1)``, nothing is under way but what waits at `i`
    """

    wire_tx: Out(LinkPort())
    wire_rx: In(LinkPort())
    tx: In(LinkPort())
    rx: Out(LinkPort())
    i: In(stream.Signature(ControlFlit))
    received: Out(ControlPort())
    idle: Out(1)

    def __init__(self, config: NicConfig):
        self._config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        self._send(m, numbers(self._config, platform).flit_slots)
        kind = self.wire_rx.kind.as_value()
        m.d.comb += [
            self.received.valid.eq((kind == BarrierKind.STATE) | (kind == BarrierKind.ACK)),
            self.received.flit.kind.eq(kind),
            self.received.flit.data.eq(self.wire_rx.data),
            self.received.down.eq(self.wire_rx.kind == Kind.DOWN),
            self.rx.kind.eq(Mux(self.received.valid, Kind.IDLE, self.wire_rx.kind)),
            self.rx.data.eq(self.wire_rx.data),
            self.wire_rx.stop.eq(self.rx.stop),
        ]
        return m

    def _send(self, m, spacing):
        """`spacing`: slots from one flit to the next."""
        flit, stands = Signal(ControlFlit), Signal()  # on the wire in this slot
        rest = Signal(up_to(spacing))  # slots in which nothing more may be put on the wire
        left = Signal.like(rest)
        used = Signal()
        ours = Signal()  # the last flit was a control flit; packets have a limiter of their own
        m.d.comb += [
            used.eq(stands | (self.tx.kind != Kind.IDLE)),
            left.eq(Mux(used, spacing - 1, rest)),
            self.i.ready.eq(left == 0),
            self.tx.stop.eq(self.wire_tx.stop | self.i.valid | (stands & (spacing > 1)) | (ours & (rest != 0))),
            self.wire_tx.kind.eq(Mux(stands, flit.kind, self.tx.kind)),
            self.wire_tx.data.eq(Mux(stands, flit.data, self.tx.data)),
            self.idle.eq(~stands & (rest == 0)),
        ]
        m.d.sync += [stands.eq(self.i.valid & self.i.ready), flit.eq(self.i.payload), rest.eq(0)]
        with m.If(left != 0):
            m.d.sync += rest.eq(left - 1)
        with m.If(used):
            m.d.sync += ours.eq(stands)
