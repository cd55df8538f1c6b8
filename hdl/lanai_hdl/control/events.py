"""Events, doorbells, the wait register, the timer.

What is written to a register is known here a slot after the access (`RegisterFile`). All outputs are as if it had been known at once.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..machine import LEVEL_EVENTS, Event

# One bit a member of `machine.Event`, by its name in lower case and at its place.
EventBits = data.StructLayout({event.name.lower(): 1 for event in Event})


class Events(wiring.Component):
    """ISR and WAIT. `raised` are the events of this slot and the state of the levels; `isr` shows them in the next. `late` are events of the
    slot before, which `isr` shows at once.

    Written in the slot before: `clear` with `mask` ends the sticky ones named; `wait` with `mask` begins a wait: `waiting`, from now until
    one slot after ISR and the mask have a bit in common. A mask of 0 does not wait. `awaited` is ISR and the last mask. `irq` is ISR and
    `irq_mask`, or-reduced, a slot later. `idle` while none of these would change in the next slot.
    """

    raised: In(EventBits)
    late: In(EventBits)
    clear: In(1)
    wait: In(1)
    mask: In(32)
    irq_mask: In(32)
    isr: Out(32)
    awaited: Out(32)
    waiting: Out(1)
    irq: Out(1)
    idle: Out(1)

    def elaborate(self, platform):
        m = Module()
        levels = sum(event.value for event in LEVEL_EVENTS)
        held, raised = (
            Signal(len(Event)),
            Signal(len(Event)),
        )  # ISR before a clear; what that slot raised is not cleared
        wait_mask, stalled = Signal(len(Event)), Signal()
        mask = Signal(len(Event))
        after = Signal(len(Event))
        m.d.comb += [
            self.isr.eq((held & ~Mux(self.clear, self.mask & ~levels, 0)) | raised | self.late.as_value()),
            after.eq((self.isr & ~levels) | self.raised.as_value()),
            mask.eq(Mux(self.wait, self.mask, wait_mask)),
            self.awaited.eq(self.isr & mask),
            self.waiting.eq(Mux(self.wait, self.mask[: len(Event)].any(), stalled)),
        ]
        m.d.sync += [
            held.eq(after),
            raised.eq(self.raised),
            wait_mask.eq(mask),
            stalled.eq(self.waiting & ~self.awaited.any()),
            self.irq.eq((self.isr & self.irq_mask).any()),
        ]
        m.d.comb += self.idle.eq(
            (after == self.isr)
            & ((self.isr & self.irq_mask).any() == self.irq)
            & ~self.clear
            & ~self.wait
            & ~(self.waiting & self.awaited.any())
        )
        return m


class Bell(wiring.Component):
    """DOORBELL or HOST_SIGNAL: one side rings `bits`, the other clears them. `value`, and `rings`, whether any is set.

    `ring` and `clear` were in the slot before, and never both: the registers serve one side in a slot.
    """

    ring: In(1)
    clear: In(1)
    bits: In(32)
    value: Out(32)
    rings: Out(1)

    def elaborate(self, platform):
        m = Module()
        held = Signal(32)
        rung, cleared = self.bits & self.ring.replicate(32), self.bits & self.clear.replicate(32)
        m.d.comb += [self.value.eq((held & ~cleared) | rung), self.rings.eq(self.value.any())]
        m.d.sync += held.eq(self.value)
        return m


class Timer(wiring.Component):
    """TIMER: `fired` in one slot once `cycles` has reached the cycle written; `value` is that cycle, 0 while disarmed.

    `write` with `cycle` was in the slot before.
    """

    cycles: In(32)
    write: In(1)
    cycle: In(32)
    value: Out(32)
    armed: Out(1)
    fired: Out(1)

    def elaborate(self, platform):
        m = Module()
        reached = Signal()  # registered, for the subtraction is long
        held, set_ = Signal(32), Signal()
        m.d.comb += [
            self.value.eq(Mux(self.write, self.cycle, held)),
            self.armed.eq(Mux(self.write, self.cycle != 0, set_)),
            self.fired.eq(reached & ~self.write),
        ]
        m.d.sync += [
            reached.eq(self.armed & ~(self.cycles - self.value)[31] & ~self.fired),
            held.eq(self.value),
            set_.eq(self.armed),
        ]
        with m.If(self.fired):
            m.d.sync += [held.eq(0), set_.eq(0)]
        return m
