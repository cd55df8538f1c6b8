"""CONTROL, and the count of slots."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..block import NicBlock
from .csr import CONTROL
from .csr import Control as ControlBits

RESET_SLOTS = 32


class Control(NicBlock):
    """CONTROL: a write of RUN or RESET, and a reset that the receive DMA asks for.

    `write` with `wdata` comes one slot after the access (`RegisterFile`); `run` and `reset` follow
    it combinationally. RESET raises `reset` for RESET_SLOTS slots. `blocked` does the same and
    stops the processor too (NP-19); it is registered, and wins over a `write` of the same slot. No
    reset is asked for during a reset. A write of RESET | RUN starts the processor after the reset.
    `idle` while no reset is under way or pending.
    """

    survives_reset = True

    write: In(1)
    wdata: In(32)
    blocked: In(1)
    value: Out(32)
    run: Out(1)
    reset: Out(1)
    idle: Out(1)

    def connect_registers(self, bank):
        control = CONTROL.registers.CONTROL
        return [
            self.write.eq(bank.written_by_host(control)),
            self.wdata.eq(bank.wdata),
            bank.value(control).eq(self.value),
        ]

    def elaborate(self, platform):
        m = Module()
        # Reloaded while there is no reset, so that the timing-critical request does not gate the
        # load.
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
