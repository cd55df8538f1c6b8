"""A LiteX SoC with a NIC on its Wishbone bus, both as slave and as master. Write its Verilog to `build`:

pip install litex
lanai verilog nic --wrap wishbone --config sram_size=16384 -o nic
python examples/litex/soc.py nic build
"""

import sys
from contextlib import chdir
from pathlib import Path

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import wishbone
from migen import ClockSignal, Instance, ResetSignal, Signal

NIC_AT, NIC_BYTES = 0x9000_0000, 1 << 21
RAM_BYTES = 1 << 14
MHZ = 66
BUS = [("adr", 30), ("dat_w", 32), ("dat_r", 32), ("sel", 4), ("cyc", 1), ("stb", 1), ("ack", 1), ("we", 1), ("err", 1)]
ANSWERS = ("dat_r", "ack", "err")
PINS = [
    ("clock", 0, Pins(1)),
    ("reset", 0, Pins(1)),
    ("irq", 0, Pins(1)),
    ("host", 0, *(Subsignal(name, Pins(bits)) for name, bits in BUS)),
]


class Lanai(LiteXModule):
    """The NIC that `lanai verilog nic --wrap wishbone` has written to a directory, its link looped back.

    `bus` is the host's window, `memory` the NIC's way to host memory, `irq` its interrupt.
    """

    def __init__(self, platform, directory):
        self.bus, self.memory = wishbone.Interface(adr_width=19), wishbone.Interface()
        self.irq = Signal()
        kind, data, stop = Signal(3), Signal(32), Signal()
        ports = {"i_clk": ClockSignal(), "i_rst": ResetSignal(), "o_irq": self.irq}
        for name, _ in BUS:
            into, out = ("o", "i") if name in ANSWERS else ("i", "o")
            ports[f"{into}_s_wb_{name}"] = getattr(self.bus, name)
            ports[f"{out}_m_wb_{name}"] = getattr(self.memory, name)
        for name, signal in (("kind", kind), ("data", data)):
            ports |= {f"o_link_tx__{name}": signal, f"i_link_rx__{name}": signal}
        ports |= {"o_link_rx__stop": stop, "i_link_tx__stop": stop}
        self.specials += Instance("lanai_nic", **ports)
        platform.add_sources(str(directory), *Path(directory, "lanai_nic.f").read_text().split())


class Soc(SoCMini):
    """The NIC, memory for its host, and pins in the place of a processor. With `cpu_type` LiteX puts one there."""

    def __init__(self, platform, directory, **options):
        super().__init__(platform, MHZ * 10**6, integrated_main_ram_size=RAM_BYTES, **options)
        self.crg = CRG(platform.request("clock"), platform.request("reset"))
        self.nic = Lanai(platform, directory)
        self.bus.add_slave("nic", self.nic.bus, SoCRegion(NIC_AT, NIC_BYTES, cached=False))
        self.bus.add_master("nic", self.nic.memory)
        host, pins = wishbone.Interface(), platform.request("host")
        for name, _ in BUS:
            into, out = getattr(pins, name), getattr(host, name)
            self.comb += into.eq(out) if name in ANSWERS else out.eq(into)
        self.bus.add_master("host", host)
        self.comb += platform.request("irq").eq(self.nic.irq)


def write(directory, output):
    """Write the SoC with the NIC in `directory`. Return all sources that it needs."""
    platform = SimPlatform("SIM", list(PINS))
    soc = Soc(platform, directory)
    soc.finalize()
    file = Path(output, "soc.v").resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    with chdir(file.parent):  # where the memory's first words are written too
        platform.get_verilog(soc.get_fragment(), name="soc").write(file.name)
    return [file, *(Path(source) for source, *_ in platform.sources)]


if __name__ == "__main__":
    print(*write(*sys.argv[1:3]), sep="\n")
