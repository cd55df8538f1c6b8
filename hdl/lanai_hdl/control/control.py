"""CONTROL, and the count of slots."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..machine import Control as ControlBits

RESET_SLOTS = 32  # longer than any answer of host memory that is still under way


class Control(wiring.Component):
    """CONTROL: `write` with `wdata` sets RUN, and RESET asks for `reset`, as does `blocked`, which stops the processor too (NP-19).

    `write` was in the slot before (`RegisterFile`); `run` and `reset` are as if it had been known at once. `blocked` is of this slot, and of two in
    one slot it is the later. `reset` lasts RESET_SLOTS slots; nothing asks for one meanwhile. A write of RESET | RUN starts the processor
    after it. `idle` while it neither resets nor, but for a `write`, is about to.
    """

    write: In(1)
    wdata: In(32)
    blocked: In(1)
    value: Out(32)
    run: Out(1)
    reset: Out(1)
    idle: Out(1)

    def elaborate(self, platform):
        m = Module()
        # Wound up while there is no reset: what asks for one comes late.
        left = Signal(range(RESET_SLOTS), init=RESET_SLOTS - 1)
        running, resetting, blocked = Signal(), Signal(), Signal()  # as they were in the slot before
        written = Mux(self.write, (self.wdata & ControlBits.RUN) != 0, running)
        m.d.comb += [
            self.run.eq(written & ~blocked),
            self.reset.eq(resetting | blocked | (self.write & ((self.wdata & ControlBits.RESET) != 0))),
            self.value.eq(self.run),
            self.idle.eq(~resetting & ~blocked),
        ]
        m.d.sync += [
            blocked.eq(self.blocked),
            running.eq(self.run),
            resetting.eq(self.reset & (left != 0)),
            left.eq(Mux(self.reset & (left != 0), left - 1, RESET_SLOTS - 1)),
        ]
        return m


class SlotCounter(wiring.Component):
    """Numbers the slots, for tops that run every slot."""

    now: Out(33)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.now.eq(self.now + 1)
        return m
