"""Bus functional models of what surrounds a NIC, for your own benches.

Each model is written once over `Pins`, one interface's signals and the clock, and so serves
Amaranth's simulator and cocotb alike:

    PioHost(pins)        the host's programmed I/O: `await host.write(offset, value)`
    HostMemory(pins)     host memory that the NIC reaches as bus master: bytes, refusals, latency
    LinkSource(pins)     sends packets, sound or broken, and obeys STOP
    SramModel(pins)      the LBUS, as one requester sees it
    LinkSink(pins)       takes packets, judges their CRC, raises STOP at will

In Amaranth's simulator `Chip` is a NIC with all of these around it and `Pair` two on a cable.
`Bench` runs any component with a watchdog, `simulator` prepares one for benches of your own;
`BenchProcessor` stands in for the processor so that a bench can do what firmware would. In cocotb
take `CocotbPins(dut, "pio")` (`lanai_hdl.bfm.cocotb`) for the interface `pio` of the converted NIC;
`run_cocotb` (`lanai_hdl.bfm.verilated`) converts, compiles and runs.
"""

from ..program import Program
from .bench_processor import BenchProcessor
from .chip import Chip, Pair, Side, World
from .hostmemory import HostMemory
from .link import LinkSink, LinkSource, Packet
from .pins import Pins
from .pio import PioHost
from .pysim import Bench, PysimPins, simulator, stream_get, stream_put
from .sram import SramModel

__all__ = [
    "Bench",
    "BenchProcessor",
    "Chip",
    "HostMemory",
    "LinkSink",
    "LinkSource",
    "Packet",
    "Pair",
    "Pins",
    "PioHost",
    "Program",
    "PysimPins",
    "Side",
    "SramModel",
    "World",
    "simulator",
    "stream_get",
    "stream_put",
]
