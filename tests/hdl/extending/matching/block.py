"""The matching block in gateware."""

from amaranth import Module
from amaranth.lib.wiring import In, Out

from lanai_hdl.block import Counts, NicBlock, Raises

from .csr import MATCHING


class MatchingBlock(NicBlock):
    """`matched` for the slot of `probe` if `word` and `tag` agree in all bits of `mask`; `last`
    holds that word."""

    mask: In(32)
    tag: In(32)
    probe: In(1)
    word: In(32)
    last: Out(32)
    matched: Out(1)

    def __init__(self, tag_bits):
        self._tag_bits = tag_bits
        super().__init__()

    def connect_registers(self, bank):
        registers = MATCHING.registers
        return [
            self.mask.eq(bank.value(registers.MATCH_MASK)),
            self.tag.eq(bank.value(registers.MATCH_TAG)),
            self.probe.eq(bank.written(registers.MATCH_PROBE) | bank.written_by_host(registers.MATCH_PROBE)),
            self.word.eq(bank.wdata),
            bank.value(registers.MATCH_LAST).eq(self.last),
        ]

    def raises(self):
        yield Raises(MATCHING.events.MATCHED, self.matched)

    def counts(self):
        yield Counts(MATCHING.counters.MATCHES, self.matched)

    def elaborate(self, platform):
        m = Module()
        differs = ((self.word ^ self.tag) & self.mask)[: self._tag_bits].any()
        m.d.comb += self.matched.eq(self.probe & ~differs)
        with m.If(self.matched):
            m.d.sync += self.last.eq(self.word)
        return m
