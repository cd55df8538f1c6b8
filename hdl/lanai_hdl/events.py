"""Events, doorbells, the wait register, the timer."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .machine import LEVEL_EVENTS, Event

# One bit a member of `machine.Event`, by its name in lower case and at its place.
EventBits = data.StructLayout({event.name.lower(): 1 for event in Event})


class Events(wiring.Component):
    """ISR and WAIT. `raised` are the events of this slot and the state of the levels; `isr` shows them in the next.

    `clear` with `mask` ends the sticky ones named. `wait` with `mask` begins a wait: `waiting`, from the next slot until one slot after
    ISR and the mask have a bit in common. A mask of 0 does not wait. `awaited` is ISR and the last mask. `irq` is ISR and `irq_mask`,
    or-reduced, a slot later. `still` while none of these would change in the next slot.
    """

    raised: In(EventBits)
    clear: In(1)
    wait: In(1)
    mask: In(32)
    irq_mask: In(32)
    isr: Out(32)
    awaited: Out(32)
    waiting: Out(1)
    irq: Out(1)
    still: Out(1)

    def elaborate(self, platform):
        m = Module()
        wait_mask = Signal(len(Event))
        levels = sum(event.value for event in LEVEL_EVENTS)
        kept = Signal(len(Event))
        with m.If(self.clear):
            m.d.comb += kept.eq(self.isr & ~self.mask & ~levels)
        with m.Else():
            m.d.comb += kept.eq(self.isr & ~levels)
        isr = Signal.like(self.isr)
        irq = Signal()
        m.d.comb += [
            isr.eq(kept | self.raised.as_value()),
            irq.eq((self.isr & self.irq_mask).any()),
            self.still.eq((isr == self.isr) & (irq == self.irq) & ~self.wait & ~(self.waiting & self.awaited.any())),
        ]
        m.d.sync += [self.isr.eq(isr), self.irq.eq(irq)]
        m.d.comb += self.awaited.eq(self.isr & wait_mask)
        with m.If(self.wait):
            m.d.sync += [wait_mask.eq(self.mask), self.waiting.eq(self.mask[: len(Event)].any())]
        with m.Elif(self.awaited.any()):
            m.d.sync += self.waiting.eq(0)
        return m


class Bell(wiring.Component):
    """DOORBELL or HOST_SIGNAL: one side rings bits, the other clears them. `value`, and `rings`, whether any is set."""

    ring: In(1)
    clear: In(1)
    bits: In(32)
    value: Out(32)
    rings: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.rings.eq(self.value.any())
        with m.If(self.ring):
            m.d.sync += self.value.eq(self.value | self.bits)
        with m.Elif(self.clear):
            m.d.sync += self.value.eq(self.value & ~self.bits)
        return m


class Timer(wiring.Component):
    """TIMER: `fired` in one slot once `cycles` has reached the cycle written; `value` is that cycle, 0 while "
    "disarmed."""

    cycles: In(32)
    write: In(1)
    cycle: In(32)
    value: Out(32)
    armed: Out(1)
    fired: Out(1)

    def elaborate(self, platform):
        m = Module()
        reached = Signal()  # registered, for the subtraction is long
        m.d.sync += reached.eq(self.armed & ~(self.cycles - self.value)[31] & ~self.write & ~self.fired)
        m.d.comb += self.fired.eq(reached)
        with m.If(self.write):
            m.d.sync += [self.value.eq(self.cycle), self.armed.eq(self.cycle != 0)]
        with m.Elif(self.fired):
            m.d.sync += [self.value.eq(0), self.armed.eq(0)]
        return m
