"""Constants of the paper's machine and programs, as ours have them.

The stride of sparse is the one that the paper's text names (SC-G3). The load of table 2 follows from
its own columns but for 4 nodes (SC-G4), so it is not measured.
"""

from statistics import median

from lanai_hdl.config import NicConfig
from lanai_host.config import HostCost, pentium2_266, pentium3_800
from lanai_host.stacks.sci.layout import SciOptions

from ....machine.presets import sci_d330, sci_d330_200

KIB, MIB = 1 << 10, 1 << 20
DOUBLE = 8  # bytes of an element of noncontig
GAP = 2  # its stride, in blocks
BLOCKS = tuple(DOUBLE << step for step in range(15))  # 8 bytes to 128 KiB
TOTAL = 256 * KIB  # bytes of a transfer of noncontig
NODES = 8
STRIDE = 2  # of sparse, in accesses
ACCESSES = (8, 16, 24, 32, 64, 128, 256, 1024, 4096, 16384, 65536)
THESIS_MHZ = 266  # of the hosts of `pentium2_266`
SCALED = (HostCost.CALL, HostCost.POST, HostCost.POLL, HostCost.COMPLETE, HostCost.MATCH, HostCost.PIN,
          HostCost.PIN_PAGE, HostCost.UNPIN_PAGE, HostCost.REDUCE, HostCost.CLOCK, HostCost.SYSTEM_CALL,
          HostCost.ADDRESS_CHECK)  # fmt: skip  # by the processor's clock
PCI_BITS = 64  # of the paper's; ours has `NicConfig.host_bus_bits` at a higher clock


def link_mib(nic: NicConfig) -> float:
    """Return the bandwidth of a link, in MiB/s."""
    return 1000 * nic.link_kbytes / MIB


def clocks_mhz() -> list[float]:
    """The processor's clock that each price of `pentium3_800` stands for, beside the same of the
    thesis's hosts."""
    theirs, ours = pentium2_266(), pentium3_800()
    return [THESIS_MHZ * theirs.price(what) / ours.price(what) for what in SCALED]


def segment_use(nodes: int) -> list[int]:
    """Return how many transfers cross a segment of a ringlet, where each node sends to the one so many nodes
    ahead: for each distance there is, from 1 on."""
    crossed = [
        [(source + step) % nodes for source in range(nodes) for step in range(distance)] for distance in range(1, nodes)
    ]
    return [max(segments.count(segment) for segment in range(nodes)) for segments in crossed]


def figures(quick: bool) -> dict[str, float]:
    nic = sci_d330()
    use = segment_use(NODES)
    return {
        "design.segment.mean": sum(use) / len(use),
        "design.segment.least": min(use),
        "design.segment.most": max(use),
        "design.ring_166": link_mib(nic),
        "design.ring_200": link_mib(sci_d330_200()),
        "design.pci_mhz": nic.host_bus_khz * nic.host_bus_bits / PCI_BITS / 1000,
        "design.cpu_mhz": median(clocks_mhz()),
        "design.total": TOTAL,
        "design.gap": GAP,
        "design.stride": STRIDE,
        "design.nodes": NODES,
        "design.min_block": SciOptions().min_block,
    }
