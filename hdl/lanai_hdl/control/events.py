"""Events, doorbells, the wait register, the timer.

Strobes of register writes come as `RegisterBank` says. All outputs follow them combinationally.
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
    clear, mask : ``In``, ISR is written: the sticky events named in `mask` end
    wait, mask : ``In``, WAIT is written: a wait begins, unless `mask` is 0
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

    def input(self, event: EventBit):
        """Return the signal that raises `event`."""
        return self.raised[event.name.lower()]

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
            self.isr.eq((held & ~Mux(self.clear, self.mask & ~levels, 0)) | raised),
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
    """The event of a register whose bits one side sets and the other clears: `rings` while any bit
    of `value` is set."""

    value: In(32)
    rings: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.rings.eq(self.value.any())
        return m


class Doorbell(Bell):
    """DOORBELL: set by the host, cleared by the processor. `rung`: the host writes it."""

    rung: In(1)

    def connect_registers(self, bank):
        doorbell = CONTROL.registers.DOORBELL
        return [self.value.eq(bank.value(doorbell)), self.rung.eq(bank.written_by_host(doorbell))]

    def raises(self):
        yield Raises(CONTROL.events.DOORBELL, self.rings)

    def counts(self):
        yield Counts(CONTROL.counters.DOORBELLS, self.rung)


class HostSignal(Bell):
    """HOST_SIGNAL: set by the processor, cleared by the host."""

    def connect_registers(self, bank):
        return [self.value.eq(bank.value(CONTROL.registers.HOST_SIGNAL))]

    def raises(self):
        yield Raises(CONTROL.events.HOST_SIGNAL, self.rings)


class Timer(NicBlock):
    """TIMER: `fired` for one slot once `cycles` has reached `value`; the bank then clears it. `write`
    is the strobe of a write. `armed`: `value` is not 0."""

    cycles: In(32)
    write: In(1)
    value: In(32)
    armed: Out(1)
    fired: Out(1)

    def connect_registers(self, bank):
        registers = TIME.registers
        return [
            bank.value(registers.CYCLES).eq(self.cycles),
            self.write.eq(bank.written(registers.TIMER)),
            self.value.eq(bank.value(registers.TIMER)),
            bank.clear(registers.TIMER).eq(self.fired),
        ]

    def raises(self):
        yield Raises(TIME.events.TIMER, self.fired)

    def idle_condition(self):
        return ~self.fired

    def elaborate(self, platform):
        m = Module()
        reached = Signal()  # registered, for the subtraction is long
        m.d.comb += [self.armed.eq(self.value.any()), self.fired.eq(reached & ~self.write)]
        m.d.sync += reached.eq(self.armed & ~(self.cycles - self.value)[31] & ~self.fired)
        return m
