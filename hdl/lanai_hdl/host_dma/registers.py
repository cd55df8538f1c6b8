"""The host DMA's registers in gateware: a write of HDMA_START becomes a checked descriptor in the
engine's queue."""

from amaranth import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..control.csr import CONTROL
from ..fields import bit, status_word
from ..queue import Posted
from ..send_dma.engine import LENGTH_BITS
from ..sram.memory import leaves_sram
from .csr import HOST_DMA, HostDmaStart
from .engine import HostDescriptor


class HostDmaRegisters(NicBlock):
    """HDMA_*: a write of HDMA_START queues a checked descriptor; HDMA_STATUS and HDMA_DONE show the
    engine's state.

    Members
    -------
    host, local, length : ``In(32)``, values of the registers of these names
    start, flags : ``In``, HDMA_START is written with the value `flags`
    posted : ``Out(Posted)``, the descriptor, in the slot of `start`
    overflow : ``Out(1)``, the queue is full and the descriptor is dropped
    free, busy, done, error, stopped : ``In``, the engine's
    resume : ``Out(1)``, HOST_DMA_ERROR is cleared in ISR
    status, completed : ``Out(32)``, values of HDMA_STATUS and HDMA_DONE
    """

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__(
            {
                "host": In(32),
                "local": In(32),
                "length": In(32),
                "start": In(1),
                "flags": In(32),
                "posted": Out(Posted(HostDescriptor)),
                "overflow": Out(1),
                "free": In(range(config.hdma_queue + 1)),
                "busy": In(1),
                "done": In(1),
                "error": In(1),
                "stopped": In(1),
                "resume": Out(1),
                "status": Out(32),
                "completed": Out(32),
            }
        )

    def connect_registers(self, bank):
        registers = HOST_DMA.registers
        return [
            self.host.eq(bank.value(registers.HDMA_HOST)),
            self.local.eq(bank.value(registers.HDMA_LOCAL)),
            self.length.eq(bank.value(registers.HDMA_LENGTH)),
            self.start.eq(bank.written(registers.HDMA_START)),
            self.flags.eq(bank.wdata),
            self.resume.eq(bank.written(CONTROL.registers.ISR) & bank.wdata[HOST_DMA.events.HOST_DMA_ERROR.bit]),
            bank.value(registers.HDMA_STATUS).eq(self.status),
            bank.value(registers.HDMA_DONE).eq(self.completed),
        ]

    def raises(self):
        yield Raises(CONTROL.events.BUS_ERROR, self.overflow)

    def counts(self):
        yield Counts(CONTROL.counters.QUEUE_OVERFLOWS, self.overflow)

    def elaborate(self, platform):
        m = Module()
        to_sram = bit(self.flags, HostDmaStart.TO_SRAM)
        to_host = bit(self.flags, HostDmaStart.TO_HOST)
        failed = Signal()
        outside = Signal()  # a long path, but from registers that were stable one slot earlier
        end = Signal(33)
        m.d.comb += [
            end.eq(self.host + self.length),
            # A transfer past the last host bus address would wrap to address 0.
            outside.eq(leaves_sram(self.config, self.local, self.length) | (end[32] & end[:32].any())),
            self.posted.post.eq(self.start),
            self.posted.entry.host.eq(self.host),
            self.posted.entry.local.eq(self.local),
            # What is longer than the field is refused, but feeds its length: as much as the field
            # holds, more than any send can take.
            self.posted.entry.length.eq(Mux(self.length[LENGTH_BITS:].any(), (1 << LENGTH_BITS) - 1, self.length)),
            self.posted.entry.to_host.eq(to_host & ~to_sram),
            self.posted.entry.feed.eq(bit(self.flags, HostDmaStart.FEED)),
            self.posted.entry.follow.eq(bit(self.flags, HostDmaStart.FOLLOW)),
            self.posted.entry.stop.eq(bit(self.flags, HostDmaStart.STOP)),
            self.posted.entry.refused.eq(outside | (to_sram == to_host)),
            self.overflow.eq(self.start & self.posted.full),
            self.status.eq(status_word(self.free, busy=self.busy, error=failed, stopped=self.stopped)),
        ]
        with m.If(self.done):
            m.d.sync += [failed.eq(self.error), self.completed.eq(self.completed + 1)]
        return m
