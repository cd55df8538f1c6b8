"""The host bus of one NIC: who owns it, and its clock."""

from amaranth import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..control.csr import CONTROL
from ..lbus.lbus import LbusMaster
from ..lbus.masters import PIO
from ..run_time import numbers
from .answers import AnswerGuard
from .clock import HostClock
from .csr import HOST_BUS
from .master import READ_AHEAD, BusMaster
from .ports import BurstPort, HostMemoryPort, PioPort
from .target import PioTarget, RegisterAccess, window_member


class HostBus(NicBlock):
    """`PioTarget` and `BusMaster` on one bus: one owner at a time, PIO first.

    A master that has waited for `pio_turn` bus clocks goes before the next PIO access: it gets the bus
    when the access under way ends, or the line that is being written.

    Members are theirs: `pio`, `lbus`, `registers`, `window`; `engine`, `mem`; events `read`,
    `wrote`, `begun`, `beat`; `fault`, an event of the slot before; `idle`. `reset` resets the
    master half, never the target.
    """

    # The host's access that asks for the reset must be answered.
    survives_reset = True
    lbus_master = PIO

    def __init__(self, config: NicConfig):
        self.config = config
        self.target, self.master = PioTarget(config), BusMaster(config)
        super().__init__(
            {
                "pio": In(PioPort()),
                "lbus": Out(LbusMaster()),
                "registers": Out(RegisterAccess()),
                "engine": In(BurstPort()),
                "mem": Out(HostMemoryPort()),
                "read": Out(1),
                "wrote": Out(1),
                "fault": Out(1),
                "begun": Out(1),
                "beat": Out(1),
                "idle": Out(1),
                "reset": In(1),
                **window_member(config),
            }
        )

    def raises(self):
        yield Raises(CONTROL.events.BUS_ERROR, self.fault)

    def counts(self):
        counters = HOST_BUS.counters
        yield Counts(counters.BUS_BURSTS, self.begun)
        yield Counts(counters.BUS_BEATS, self.beat)
        yield Counts(counters.PIO_READS, self.read)
        yield Counts(counters.PIO_WRITES, self.wrote)
        yield Counts(counters.PIO_FAULTS, self.fault)

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = clock = HostClock(self.config)
        target, master = self.target, self.master
        m.submodules.target, m.submodules.master = target, ResetInserter(self.reset)(master)
        for name in ("pio", "lbus", "registers", *window_member(self.config)):
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(target, name))
        m.submodules.answers = answers = AnswerGuard(READ_AHEAD)
        wiring.connect(m, wiring.flipped(self.engine), master.engine)
        wiring.connect(m, master.mem, answers.i)
        wiring.connect(m, answers.o, wiring.flipped(self.mem))
        free = Signal()
        waited = Signal(range(self.config.pio_turn + 1))  # bus clocks, by the master
        m.d.comb += [
            answers.reset.eq(self.reset),
            free.eq(~target.granted & ~master.granted),
            clock.run.eq(~free),
            target.tick.eq(clock.tick),
            master.tick.eq(clock.tick),
            master.contended.eq(target.want),
            target.leave.eq(waited == numbers(self.config, platform).pio_turn),
            self.read.eq(target.read),
            self.wrote.eq(target.wrote),
            self.fault.eq(target.fault),
            self.begun.eq(master.begun),
            self.beat.eq(master.beat),
            self.idle.eq(target.idle & master.idle & free & answers.drained),
        ]
        with m.If(free):
            m.d.sync += [
                target.granted.eq(target.want & ~(master.want & target.leave)),
                master.granted.eq(master.want & (~target.want | target.leave)),
            ]
        with m.Else():
            m.d.sync += [
                target.granted.eq(target.granted & target.want),
                master.granted.eq(master.granted & master.want),
            ]
        with m.If(~master.want | master.granted):
            m.d.sync += waited.eq(0)
        with m.Elif(clock.tick & ~target.leave):
            m.d.sync += waited.eq(waited + 1)
        return m
