"""The host bus of one NIC: who owns it, and its clock."""

from amaranth import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import NicConfig
from ..lbus.lbus import LbusMaster
from .clock import HostClock
from .master import BusMaster
from .ports import BurstPort, HostMemoryPort, PioPort
from .target import PioTarget, RegisterAccess


class HostBus(wiring.Component):
    """`PioTarget` and `BusMaster` on one bus: one owner at a time, PIO first, for as long as it wants.

    Members are theirs: `pio`, `lbus`, `registers`; `engine`, `mem`; events `read`, `wrote`, `fault` (a slot late), `begun`, `beat`; `idle`. `reset`
    resets the master half, never the target.
    """

    pio: In(PioPort())
    lbus: Out(LbusMaster())
    registers: Out(RegisterAccess())
    engine: In(BurstPort())
    mem: Out(HostMemoryPort())
    read: Out(1)
    wrote: Out(1)
    fault: Out(1)
    begun: Out(1)
    beat: Out(1)
    idle: Out(1)
    reset: In(1)

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = clock = HostClock(self.config)
        m.submodules.target = target = PioTarget(self.config)
        master = BusMaster(self.config)
        m.submodules.master = ResetInserter(self.reset)(master)
        for name in ("pio", "lbus", "registers"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(target, name))
        for name in ("engine", "mem"):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(master, name))
        free = Signal()
        m.d.comb += [
            free.eq(~target.granted & ~master.granted),
            clock.run.eq(~free),
            target.tick.eq(clock.tick),
            master.tick.eq(clock.tick),
            master.contended.eq(target.want),
            self.read.eq(target.read),
            self.wrote.eq(target.wrote),
            self.fault.eq(target.fault),
            self.begun.eq(master.begun),
            self.beat.eq(master.beat),
            self.idle.eq(target.idle & master.idle & free),
        ]
        with m.If(free):
            m.d.sync += [target.granted.eq(target.want), master.granted.eq(master.want & ~target.want)]
        with m.Else():
            m.d.sync += [
                target.granted.eq(target.granted & target.want),
                master.granted.eq(master.granted & master.want),
            ]
        return m
