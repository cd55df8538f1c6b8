"""The barrier tree at a NIC."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from .csr import BARRIER, BITS
from .port import LINKS, BarrierPort


class BarrierBlock(NicBlock):
    """Registers, event and counters of a `BarrierPort` on the NIC's link.

    After reset the bits are 0, and are sent to the switch. `bits`: what software wrote. `seen`: what
    the switch said last, above it whether the tree is lost: this NIC's end is, or the switch says
    that another is.
    """

    def __init__(self, config: NicConfig):
        self.port = BarrierPort(config)
        flags = dict.fromkeys(("changed", "resent", "damaged", "idle"), Out(1))
        super().__init__({**LINKS, "bits": In(BITS), "seen": Out(BITS + 1), **flags})

    def connect_registers(self, bank):
        registers = BARRIER.registers
        return [
            self.bits.eq(bank.value(registers.BARRIER_BITS)),
            bank.value(registers.BARRIER_SEEN).eq(self.seen),
        ]

    def raises(self):
        yield Raises(BARRIER.events.BARRIER, self.changed)

    def counts(self):
        yield Counts(BARRIER.counters.BARRIER_RESENT, self.resent)
        yield Counts(BARRIER.counters.BARRIER_DAMAGED, self.damaged)

    def elaborate(self, platform):
        m = Module()
        m.submodules.port = port = self.port
        before = Signal(BITS + 1)
        for name in LINKS:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(port, name))
        m.d.comb += [
            port.mine.eq(self.bits),
            self.seen.eq(Cat(port.theirs, port.lost | port.theirs_failed)),
            self.changed.eq(self.seen != before),
            self.resent.eq(port.resent),
            self.damaged.eq(port.damaged),
            self.idle.eq(port.idle & ~self.changed),
        ]
        m.d.sync += before.eq(self.seen)
        return m
