"""The send DMA's registers in gateware: a write of SEND_START becomes a checked descriptor in the
engine's queue."""

from amaranth import Module
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..control.csr import CONTROL
from ..fields import bit, status_word
from ..queue import Posted
from ..sram.memory import leaves_sram
from .csr import SEND_DMA, SendStart
from .engine import SendDescriptor


class SendDmaRegisters(NicBlock):
    """SEND_*: a write of SEND_START queues a checked descriptor; SEND_STATUS and SEND_DONE show the
    engine's state.

    Members
    -------
    route, pointer, length : ``In(32)``, values of the registers of these names
    start, flags : ``In``, SEND_START is written with the value `flags`
    posted : ``Out(Posted)``, the descriptor, in the slot of `start`
    overflow : ``Out(1)``, the queue is full and the descriptor is dropped
    refused : ``Out(1)``, a descriptor that leaves the SRAM is queued: it sends no word
    free, busy, done : ``In``, the engine's
    up : ``In(1)``, the link has a carrier
    status, completed : ``Out(32)``, values of SEND_STATUS and SEND_DONE
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "route": In(32),
                "pointer": In(32),
                "length": In(32),
                "start": In(1),
                "flags": In(32),
                "posted": Out(Posted(SendDescriptor)),
                "overflow": Out(1),
                "refused": Out(1),
                "free": In(range(config.send_queue + 1)),
                "busy": In(1),
                "done": In(1),
                "up": In(1),
                "status": Out(32),
                "completed": Out(32),
            }
        )

    def connect_registers(self, bank):
        registers = SEND_DMA.registers
        return [
            self.route.eq(bank.value(registers.SEND_ROUTE)),
            self.pointer.eq(bank.value(registers.SEND_POINTER)),
            self.length.eq(bank.value(registers.SEND_LENGTH)),
            self.start.eq(bank.written(registers.SEND_START)),
            self.flags.eq(bank.wdata),
            bank.value(registers.SEND_STATUS).eq(self.status),
            bank.value(registers.SEND_DONE).eq(self.completed),
        ]

    def raises(self):
        yield Raises(CONTROL.events.BUS_ERROR, self.refused | self.overflow)

    def counts(self):
        yield Counts(SEND_DMA.counters.SEND_ERRORS, self.refused)
        yield Counts(CONTROL.counters.QUEUE_OVERFLOWS, self.overflow)

    def elaborate(self, platform):
        m = Module()
        descriptor = self.posted.entry
        m.d.comb += [
            self.posted.post.eq(self.start),
            descriptor.route.eq(self.route),
            descriptor.pointer.eq(self.pointer & ~3),
            descriptor.length.eq(self.length),
            descriptor.first.eq(bit(self.flags, SendStart.FIRST)),
            descriptor.last.eq(bit(self.flags, SendStart.LAST)),
            descriptor.chase.eq(bit(self.flags, SendStart.CHASE)),
            descriptor.check.eq(bit(self.flags, SendStart.CHECK)),
            descriptor.refused.eq(leaves_sram(self.config, self.pointer, self.length)),
            self.overflow.eq(self.start & self.posted.full),
            self.refused.eq(self.start & ~self.posted.full & descriptor.refused),
            self.status.eq(status_word(self.free, busy=self.busy, link_up=self.up)),
        ]
        with m.If(self.done):
            m.d.sync += self.completed.eq(self.completed + 1)
        return m
