"""The SRAM as an FPGA has it: block RAM with two ports."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory
from amaranth.lib.wiring import In

from ..block import NicBlock
from ..config import NicConfig
from ..memory_attributes import ANY_ON_COLLISION
from .memory import SramPort

BANK = 1 << 14  # words of 32 block RAMs of an ECP5, a bit wide each: their outputs pass no choice


class BlockRamSram(NicBlock):
    """A `MemorySram` in which only a read's address has to reach the block RAMs within its slot.

    A write is performed one slot later, from registers, through a port of its own. A read in that slot
    finds its word half written, so the bytes written replace what it finds.

    Parameters: `init`, the first words' content; `bank`, words of a bank, a power of two.
    """

    survives_reset = True

    def __init__(self, config: NicConfig, init=(), *, bank: int = BANK):
        words, init = config.sram_size // 4, list(init)
        self._bank = min(bank, words)
        self._banks = [
            # `elaborate` replaces the bytes of a read that meets a write.
            memory.Memory(shape=32, depth=self._bank, init=init[n : n + self._bank], attrs=ANY_ON_COLLISION)
            for n in range(0, words, self._bank)
        ]
        super().__init__({"port": In(SramPort(config))})

    def elaborate(self, platform):
        m = Module()
        port = self.port
        access = data.StructLayout({"addr": port.addr.shape(), "data": 32, "be": 4})
        last, before = Signal(access), Signal(access)  # of the slot before and of that before it; `be` is 0 for reads
        m.d.sync += [
            last.addr.eq(port.addr),
            last.data.eq(port.wdata),
            last.be.eq(port.write.replicate(4) & port.be),
            before.eq(last),
        ]
        again, found = Signal(), self._find(m, last)
        m.d.comb += [
            # Compared while the block RAM looks for its word, which takes longer.
            again.eq(last.addr == before.addr),
            port.rdata.eq(
                Cat(Mux(again & before.be[i], before.data.word_select(i, 8), found.word_select(i, 8)) for i in range(4))
            ),
        ]
        return m

    def _find(self, m, last):
        """Writes what `last` says; returns what stood at its address."""
        low = (self._bank - 1).bit_length()
        number = last.addr[low:]
        found = Signal(32)
        for n, bank in enumerate(self._banks):
            m.submodules[f"bank_{n}"] = bank
            write, read = bank.write_port(granularity=8), bank.read_port()
            mine = number == n if len(number) else 1
            m.d.comb += [
                write.addr.eq(last.addr),
                write.data.eq(last.data),
                write.en.eq(Mux(mine, last.be, 0)),
                read.addr.eq(self.port.addr[:low]),
                read.en.eq(1),
            ]
            with m.If(mine):
                m.d.comb += found.eq(read.data)
        return found
