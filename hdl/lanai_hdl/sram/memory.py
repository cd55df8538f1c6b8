"""The SRAM: one port, one access a slot, read data in the next slot; and a check of descriptors against its size."""

from pathlib import Path

from amaranth import ClockSignal, Instance, Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ..block import NicBlock
from ..config import NicConfig

VERILOG = Path(__file__).with_name("lanai_sram.v")


class SramPort(wiring.Signature):
    """`enable` makes an access in this slot: `write` stores the bytes of `wdata` that `be` names in
    word `addr`; a read's `rdata` stands in the next slot only. `write` is raised only with
    `enable`."""

    def __init__(self, config: NicConfig):
        super().__init__(
            {
                "enable": Out(1),
                "write": Out(1),
                "addr": Out(range(config.sram_size // 4)),
                "wdata": Out(32),
                "be": Out(4),
                "rdata": In(32),
            }
        )


class MemorySram(NicBlock):
    """An Amaranth memory, for Amaranth's simulator. `init` is the first words' content."""

    survives_reset = True

    def __init__(self, config: NicConfig, init=()):
        self.config = config
        self.memory = memory.Memory(shape=32, depth=config.sram_size // 4, init=init)
        super().__init__({"port": In(SramPort(config))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        write = self.memory.write_port(granularity=8)
        read = self.memory.read_port()
        m.d.comb += [
            write.addr.eq(self.port.addr),
            write.data.eq(self.port.wdata),
            write.en.eq(self.port.write.replicate(4) & self.port.be),
            read.addr.eq(self.port.addr),
            self.port.rdata.eq(read.data),
        ]
        return m


class InstanceSram(NicBlock):
    """The Verilog module `lanai_sram` (text in `VERILOG`): converting a design would write out
    every row of an Amaranth memory, and a simulator of the result can reach the module's array
    `mem` directly."""

    survives_reset = True

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({"port": In(SramPort(config))})

    def elaborate(self, platform):
        m = Module()
        port = self.port
        m.submodules.sram = Instance(
            "lanai_sram",
            p_ADDRESS_BITS=len(port.addr),
            i_clk=ClockSignal(),
            i_enable=port.enable,
            i_write=port.write,
            i_addr=port.addr,
            i_wdata=port.wdata,
            i_be=port.be,
            o_rdata=port.rdata,
        )
        return m


def leaves_sram(config, start, length):
    """High if `length` bytes from `start`, both 32 bits wide, reach past the end of the SRAM."""
    return (start + length) > config.sram_size
