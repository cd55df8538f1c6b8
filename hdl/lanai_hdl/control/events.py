"""Events, doorbells, the wait register, the timer.

Writes to registers arrive one slot after the access (`RegisterFile`). All outputs follow them
combinationally, so that software sees the effect from the slot of the access on.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..csr.declare import EventBit
from ..csr.machine import Machine
from ..machine import MACHINE
from .csr import CONTROL, TIME


def event_bits(machine: Machine) -> data.FlexibleLayout:
    """One bit for each event, by its name in lower case, where ISR has it."""
    width = 1 + max(event.bit for event in machine.event_bits)
    fields = {event.name.lower(): data.Field(1, event.bit) for event in machine.event_bits}
    return data.FlexibleLayout(width, fields)


class Events(NicBlock):
    """ISR and WAIT.

    Members
    -------
    raised : ``In``, the events of this slot and the state of the levels; `isr` shows them in the
        next
    late : ``In``, events of the slot before, which `isr` shows in this one
    clear, mask : ``In``, ISR was written in the slot before: the sticky events named in `mask` end
    wait, mask : ``In``, WAIT was written in the slot before: a wait begins, unless `mask` is 0
    waiting : ``Out(1)``, from now until one slot after ISR and the mask have a bit in common
    awaited : ``Out(32)``, ISR and the last mask
    irq_mask, irq : ISR and `irq_mask`, or-reduced, one slot later
    idle : ``Out(1)``, none of these would change in the next slot
    """

    def __init__(self, machine: Machine = MACHINE):
        self.machine = machine
        bits = event_bits(machine)
        super().__init__(
            {
                "raised": In(bits),
                "late": In(bits),
                "clear": In(1),
                "wait": In(1),
                "mask": In(32),
                "irq_mask": In(32),
                "isr": Out(32),
                "awaited": Out(32),
                "waiting": Out(1),
                "irq": Out(1),
                "idle": Out(1),
            }
        )

    def input(self, event: EventBit, *, delayed: bool):
        """Where `event` is raised: in its own slot, or `delayed` by one."""
        return (self.late if delayed else self.raised)[event.name.lower()]

    def connect_registers(self, bank):
        registers = CONTROL.registers
        return [
            bank.value(registers.ISR).eq(self.isr),
            self.clear.eq(bank.written(registers.ISR)),
            self.mask.eq(bank.wdata),
            bank.value(registers.WAIT).eq(self.awaited),
            self.wait.eq(bank.written(registers.WAIT)),
            self.irq_mask.eq(bank.value(registers.HOST_IRQ_MASK)),
        ]

    def elaborate(self, platform):
        m = Module()
        levels, width = int(self.machine.levels), len(self.raised.as_value())
        held, raised = Signal(width), Signal(width)  # ISR before a clear; what that slot raised is not cleared
        wait_mask, stalled = Signal(width), Signal()
        mask = Signal(width)
        after = Signal(width)
        m.d.comb += [
            self.isr.eq((held & ~Mux(self.clear, self.mask & ~levels, 0)) | raised | self.late.as_value()),
            after.eq((self.isr & ~levels) | self.raised.as_value()),
            mask.eq(Mux(self.wait, self.mask, wait_mask)),
            self.awaited.eq(self.isr & mask),
            self.waiting.eq(Mux(self.wait, self.mask[:width].any(), stalled)),
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


class Bell(NicBlock):
    """A register in which one side sets `bits` (`ring`) and the other clears them. `rings`: any bit
    of `value` is set.

    `ring` and `clear` come one slot after the access, and never both: the registers serve one side
    in a slot.
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


class Doorbell(Bell):
    """DOORBELL: set by the host, cleared by the processor."""

    def connect_registers(self, bank):
        doorbell = CONTROL.registers.DOORBELL
        return [
            bank.value(doorbell).eq(self.value),
            self.ring.eq(bank.written_by_host(doorbell)),
            self.clear.eq(bank.written(doorbell)),
            self.bits.eq(bank.wdata),
        ]

    def raises(self):
        yield Raises(CONTROL.events.DOORBELL, self.rings)

    def counts(self):
        yield Counts(CONTROL.counters.DOORBELLS, self.ring, delayed=True)


class HostSignal(Bell):
    """HOST_SIGNAL: set by the processor, cleared by the host."""

    def connect_registers(self, bank):
        host_signal = CONTROL.registers.HOST_SIGNAL
        return [
            bank.value(host_signal).eq(self.value),
            self.ring.eq(bank.written(host_signal)),
            self.clear.eq(bank.written_by_host(host_signal)),
            self.bits.eq(bank.wdata),
        ]

    def raises(self):
        yield Raises(CONTROL.events.HOST_SIGNAL, self.rings)


class Timer(NicBlock):
    """TIMER: `fired` for one slot once `cycles` has reached the cycle written; `value` is that
    cycle, 0 while disarmed.

    `write` with `cycle` comes one slot after the access.
    """

    cycles: In(32)
    write: In(1)
    cycle: In(32)
    value: Out(32)
    armed: Out(1)
    fired: Out(1)

    def connect_registers(self, bank):
        registers = TIME.registers
        return [
            bank.value(registers.CYCLES).eq(self.cycles),
            self.write.eq(bank.written(registers.TIMER)),
            self.cycle.eq(bank.wdata),
            bank.value(registers.TIMER).eq(self.value),
        ]

    def raises(self):
        yield Raises(TIME.events.TIMER, self.fired)

    def idle_condition(self):
        return ~self.fired

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
