"""One cable from a NIC to a switching hub."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..link.flit import Kind, LinkPort
from ..link.receiver import LinkReceiver
from ..switch.port import SwitchTransmitter
from .config import FrameTimes
from .timer import FrameTimer


class Framer(wiring.Component):
    """Passes flits on when a cable that carries frames would have brought them.

    Members
    -------
    rx : ``In(LinkPort)``, from the NIC
    tx : ``Out(LinkPort)``, registered; DOWN while `rx` has no carrier
    idle : ``Out(1)``, nothing is inside and nothing changes until a flit or STOP comes
    """

    rx: In(LinkPort())
    tx: Out(LinkPort())
    idle: Out(1)

    def __init__(self, nic: NicConfig, times: FrameTimes):
        self.nic = nic
        self.times = times
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.receiver = receiver = LinkReceiver(self.nic)
        m.submodules.transmitter = transmitter = SwitchTransmitter(self.nic)
        m.submodules.timer = timer = FrameTimer(self.times)
        wiring.connect(m, wiring.flipped(self.rx), receiver.link)
        flit, out = receiver.o.payload, transmitter.link
        is_head, is_tail, may = flit.kind == Kind.HEAD, flit.kind == Kind.TAIL, Signal()
        m.d.comb += [
            may.eq((~is_head | timer.may_head) & (~is_tail | timer.may_tail)),
            transmitter.up.eq(1),
            transmitter.i.valid.eq(receiver.o.valid & may),
            transmitter.i.payload.eq(flit),
            receiver.o.ready.eq(transmitter.i.ready & may),
            timer.offered.eq(receiver.o.valid & is_head),
            timer.head.eq(transmitter.sent & is_head),
            timer.tail.eq(transmitter.sent & is_tail),
            out.stop.eq(self.tx.stop),
            self.tx.kind.eq(out.kind),
            self.tx.data.eq(out.data),
            self.idle.eq(receiver.idle & transmitter.idle & timer.idle),
        ]
        with m.If(~receiver.up):
            m.d.comb += self.tx.kind.eq(Kind.DOWN)
        return m
