"""A timer that says when the flits of a packet may pass a wire that carries frames."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..run_time import numbers
from .config import FrameTimes


class FrameTimer(wiring.Component):
    """Holds a HEAD for the frame's lead, a TAIL until the frame has its least length, and the next
    frame for the gap.

    Members
    -------
    offered : ``In(1)``, a HEAD waits; constant until it is taken
    head, tail : ``In(1)``, a HEAD or TAIL is taken in this slot
    may_head, may_tail : ``Out(1)``, one may be taken
    idle : ``Out(1)``, nothing changes until a HEAD is offered
    """

    offered: In(1)
    head: In(1)
    tail: In(1)
    may_head: Out(1)
    may_tail: Out(1)
    idle: Out(1)

    def __init__(self, times: FrameTimes):
        self.times = times
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        times = numbers(self.times, platform)
        longest = max(self.times.lead, self.times.least)
        age = Signal(range(longest + 1))  # slots since the lead began, as far as they matter
        within, gap = Signal(), Signal(range(self.times.gap + 1))
        m.d.comb += [
            self.may_head.eq(~gap.any() & (age >= times.lead)),
            self.may_tail.eq(age >= times.least),
            self.idle.eq(~gap.any() & ~within & ~self.offered),
        ]
        m.d.sync += gap.eq(Mux(gap.any(), gap - 1, 0))
        with m.If(self.tail):
            m.d.sync += [within.eq(0), age.eq(0), gap.eq(times.gap)]
        with m.Else():
            with m.If(self.head):
                m.d.sync += within.eq(1)
            with m.If((within | (self.offered & ~gap.any())) & (age != longest)):
                m.d.sync += age.eq(age + 1)
        return m
