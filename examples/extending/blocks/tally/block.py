"""The block in gateware."""

from amaranth import Module
from amaranth.lib.wiring import In, Out

from lanai_hdl.block import Counts, NicBlock, Raises
from lanai_hdl.send_dma.csr import SEND_DMA

from .csr import TALLY


class TallyBlock(NicBlock):
    """Looks at the length in each slot in which a piece of a packet is posted to the send DMA."""

    posted: In(1)
    length: In(16)
    longest: Out(32)
    short: Out(1)
    long: Out(1)
    record: Out(1)

    def __init__(self, limit):
        self._limit = limit
        super().__init__()

    def connect_registers(self, bank):
        send = SEND_DMA.registers
        return [
            self.posted.eq(bank.written(send.SEND_START)),
            self.length.eq(bank.value(send.SEND_LENGTH)),
            bank.value(TALLY.registers.TALLY_LONGEST).eq(self.longest),
        ]

    def raises(self):
        yield Raises(TALLY.events.TALLY_RECORD, self.record)

    def counts(self):
        yield Counts(TALLY.counters.TALLY_SHORT, self.short)
        yield Counts(TALLY.counters.TALLY_LONG, self.long)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.short.eq(self.posted & (self.length <= self._limit)),
            self.long.eq(self.posted & (self.length > self._limit)),
            self.record.eq(self.posted & (self.length > self.longest)),
        ]
        with m.If(self.record):
            m.d.sync += self.longest.eq(self.length)
        return m
