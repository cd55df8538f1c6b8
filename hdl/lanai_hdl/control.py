"""CONTROL, and the count of slots."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .machine import Control as ControlBits

RESET_SLOTS = 32  # longer than any answer of host memory that is still under way


class Control(wiring.Component):
    """CONTROL: `write` with `wdata` sets RUN, and RESET asks for `reset`, as does `blocked`, which stops the processor too (NP-19).

    `reset` lasts RESET_SLOTS slots; nothing asks for one meanwhile. A write of RESET | RUN starts the processor after it.
    """

    write: In(1)
    wdata: In(32)
    blocked: In(1)
    value: Out(32)
    run: Out(1)
    reset: Out(1)

    def elaborate(self, platform):
        m = Module()
        left = Signal(
            range(RESET_SLOTS), init=RESET_SLOTS - 1
        )  # wound up while there is no reset: what asks for one comes late
        m.d.comb += self.value.eq(self.run)
        m.d.sync += left.eq(Mux(self.reset & (left != 0), left - 1, RESET_SLOTS - 1))
        with m.If(left == 0):
            m.d.sync += self.reset.eq(0)
        with m.If(self.write):
            m.d.sync += self.run.eq((self.wdata & ControlBits.RUN) != 0)
        with m.If((self.write & ((self.wdata & ControlBits.RESET) != 0)) | self.blocked):
            m.d.sync += self.reset.eq(1)
        with m.If(self.blocked):
            m.d.sync += self.run.eq(0)
        return m


class SlotCounter(wiring.Component):
    """Numbers the slots, for tops that run every slot."""

    now: Out(33)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.now.eq(self.now + 1)
        return m
