"""Keeps answers of host memory from a bus master that was reset meanwhile."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .ports import HostMemoryPort


class AnswerGuard(wiring.Component):
    """Stands between a bus master and host memory, and is not reset with the master.

    A reset does not change what the host owes. After one the guard discards the answers to beats
    that the host took before, and passes no beat on until the last of them has come. Otherwise it
    passes everything in the same slot.

    Parameters
    ----------
    most : the most beats of the master that are taken and not answered

    Members
    -------
    i : ``In(HostMemoryPort())``, from the master
    o : ``Out(HostMemoryPort())``, to host memory
    reset : ``In(1)``, the master is reset in this slot
    drained : ``Out(1)``, registered: no answer from before the last reset is due
    """

    i: In(HostMemoryPort())
    o: Out(HostMemoryPort())
    reset: In(1)
    drained: Out(1, init=1)

    def __init__(self, most: int):
        self.owed = Signal(range(most + 1))  # beats that were taken and not answered
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        i, o = self.i, self.o
        taken, answered = Signal(), Signal()
        m.d.comb += [
            o.valid.eq(i.valid & self.drained),
            i.ready.eq(o.ready & self.drained),
            i.rvalid.eq(o.rvalid & self.drained),
            taken.eq(o.valid & o.ready),
            answered.eq(o.rvalid & (self.owed != 0)),
        ]
        m.d.comb += [getattr(o, name).eq(getattr(i, name)) for name in ("write", "addr", "wdata", "be", "burst")]
        m.d.comb += [getattr(i, name).eq(getattr(o, name)) for name in ("rdata", "rerror")]
        m.d.sync += [
            self.owed.eq(self.owed + taken - answered),
            self.drained.eq(~self.reset & (self.drained | (self.owed == 0))),
        ]
        return m
