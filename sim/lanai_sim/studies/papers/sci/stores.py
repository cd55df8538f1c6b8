"""Caches, rings and strided stores below MPI: SC-03, SC-04, SC-B4, table 2."""

from collections.abc import Iterator
from dataclasses import replace

from lanai_firmware.iss.cache import InstructionCache
from lanai_hdl.config import NicConfig
from lanai_hdl.machine import PAGE_SIZE
from lanai_hdl.remote.tables import APERTURE_PAGES
from lanai_host.config import pentium3_800
from lanai_host.mpi.datatypes.layout import Layout, block, joined

from ....machine.fabrics.wires import ringlet
from ....machine.presets import sci_d330, sci_d330_200
from ...remote_hosts import RemoteHost, idle, play
from ..claims import Figures
from .constants import KIB, MIB, TOTAL

# Experiments below MPI (SC-B1): puts and gets of two hosts on the gateware by commands of the adapter, and stores and
# loads by the processor, which the paper calls PIO.


# A model of the fills of a node's second-level cache while a receiver unpacks a message, by the bytes of a handshake
# (section 3.3.2).


L2, LINE, WAYS = 256 * KIB, 32, 8  # bytes, bytes: a Pentium III of 800 MHz
CHUNKS = (16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, L2)
ELEMENT, EXTENT = 32, 64  # bytes of data, and of memory
SHORT, PLACE = 8, 24  # bytes of an element's first block, and where its second begins
CHUNK_MEMORY = 1 << 30  # far from the program's memory


def layouts() -> dict[str, Layout]:
    """A message of elements with two unequal blocks each, and one of as many equal blocks."""
    unequal = joined([(0, block(SHORT)), (PLACE, block(ELEMENT - SHORT))])
    return {
        name: one.repeated(TOTAL // ELEMENT, EXTENT) for name, one in (("unequal", unequal), ("equal", block(ELEMENT)))
    }


def visits(layout: Layout, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(offset in memory, position in the packed stream, bytes) of the blocks that begin in bytes
    begin..end-1 of the stream, in the order of a copy leaf by leaf."""
    for leaf in layout.leaves:
        first, last = leaf.blocks_before(begin), leaf.blocks_before(end)
        for offset, packed in zip(*(places.tolist() for places in leaf.places(first, last)), strict=True):
            yield offset, packed, leaf.length


def filled(layout: Layout, chunk: int) -> float:
    """Bytes that the cache reads from memory for each byte of the message."""
    cache = InstructionCache(L2, LINE, WAYS)  # the golden model's; what is fetched does not matter to it
    for begin in range(0, layout.size, chunk):
        for offset, packed, length in visits(layout, begin, begin + chunk):
            for address in (CHUNK_MEMORY + packed, offset):
                for line in range(address // LINE, (address + length - 1) // LINE + 1):
                    cache.fetch(line * LINE)
    return cache.misses * LINE / layout.size


def cache_figures(quick: bool) -> Figures:
    """``cache.<unequal or equal>.<bytes of a handshake>``."""
    return {f"cache.{name}.{chunk}": filled(layout, chunk) for name, layout in layouts().items() for chunk in CHUNKS}


# Table 2 without MPI, on rings of 4 to 8 nodes: all nodes put to a partner at the same time, to the next node
# (minimum use: a transfer on each link) or to the one before (maximum use: all transfers but one on each link). The
# rings have as many nodes as the longest; those without a NIC pass packets on. So the last link is longer, and
# carries no less.


RING_NODES = (4, 5, 6, 7, 8)
FASTER = (6, 7, 8)  # of rings at 200 MHz
BYTES = 64 * KIB  # that each node puts
HOLD_AFTER = 4096  # slots: fairness takes next to nothing of the ring. `--fabric ring`, and so MPI, has fewer
NEXT, BEFORE = 1, -1  # the partner's place


def rates(nic: NicConfig, nodes: int, partner: int) -> list[float]:
    """MiB/s of each node."""

    def program(host: RemoteHost) -> float:
        begin = host.bus.now
        host.remote.put(host.tokens[(host.node + partner) % nodes], 0, host.address, BYTES)
        host.remote.settle()
        return BYTES / ((host.bus.now - begin) / 1e12) / MIB

    found: list[float] = play([program] * nodes, nic, ringlet(nodes, RING_NODES[-1], HOLD_AFTER), size=BYTES)
    return found


def ring_figures() -> Figures:
    """By the number of nodes: MiB/s a node with minimum and maximum use, of the slowest node with
    maximum use, and the sum of all nodes over the ring's nominal bandwidth; maximum use also at
    200 MHz. `clock_ratio`: that of the most nodes at 200 MHz over that at 166 MHz."""
    found: Figures = {}
    nic = sci_d330()
    for nodes in RING_NODES:
        worst = rates(nic, nodes, BEFORE)
        found[f"ring.{nodes}.min_use_mibps"] = mean(rates(nic, nodes, NEXT))
        found[f"ring.{nodes}.max_use_mibps"] = mean(worst)
        found[f"ring.{nodes}.slowest_mibps"] = min(worst)
        found[f"ring.{nodes}.efficiency_percent"] = 100 * sum(worst) * MIB / (1000 * nic.link_kbytes)
    for nodes in FASTER:
        found[f"ring_200.{nodes}.max_use_mibps"] = mean(rates(sci_d330_200(), nodes, BEFORE))
    most = f"{RING_NODES[-1]}.max_use_mibps"
    return found | {"ring.clock_ratio": found[f"ring_200.{most}"] / found[f"ring.{most}"]}


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


# Stores through the aperture with gaps between them (SC-03, SC-04, SC-B4): bandwidth by the bytes of an access and
# its stride, with and without the processor's write combining.


STRIDES = {
    8: (8, 16, 24, 32, 48, 64, 128, 136, 160, 256, 512),
    256: (256, 264, 288, 320, 352, 384, 416, 424, 512, 520),
}
STORED = {8: 2 * KIB, 256: 16 * KIB}  # bytes that a run stores
MAPPED = APERTURE_PAGES * PAGE_SIZE  # what a process can have mapped at one time
MISALIGNED = (257, 258, 260)  # strides of accesses of 256 bytes, whose addresses are no multiples of 8
COMBINED, GAP = 32, 16_000  # bytes of a line of a Pentium III; picoseconds after which the bus joins no more
UNCOMBINED_LINE = 8  # bytes: what a processor without write combining gives the bus at one time


def uncombined(nic: NicConfig) -> NicConfig:
    """The same NIC, whose host stores 8 bytes at a time."""
    return replace(nic, pio_line=UNCOMBINED_LINE)


def strided(host: RemoteHost, access: int, stride: int) -> float:
    """MiB/s of stores of `access` bytes each `stride` bytes, and the barrier behind them."""
    total, places = STORED[access], (MAPPED - access) // stride + 1
    data = bytes(access)
    host.remote.store(host.tokens[1], 0, bytes(MAPPED))  # so that all of it is mapped
    host.remote.settle()
    begin = host.bus.now
    for number in range(total // access):
        host.remote.store(host.tokens[1], number % places * stride, data)
    host.remote.settle()
    return total / ((host.bus.now - begin) / 1e12) / MIB


def transactions(access: int, stride: int, count: int) -> Iterator[tuple[int, int]]:
    """(address, bytes) of the stores that a processor's write-combining buffer makes of accesses one behind the other:
    a line that they fill leaves whole, of others each eight bytes that they touch, with the bytes' enables. Ours are
    whole words, of which the bus and the adapter take as long."""
    end = (count - 1) * stride + access
    touched = bytearray(-(-end // COMBINED) * COMBINED)
    for number in range(count):
        touched[number * stride : number * stride + access] = b"\1" * access
    for line in range(0, len(touched), COMBINED):
        if all(touched[line : line + COMBINED]):
            yield line, COMBINED
            continue
        for at in range(line, line + COMBINED, UNCOMBINED_LINE):
            if any(touched[at : at + UNCOMBINED_LINE]):
                yield at, UNCOMBINED_LINE


def misaligned(host: RemoteHost, stride: int, access: int = 256) -> float:
    """MiB/s of mis-aligned accesses, by transactions of the bus."""
    count = min(STORED[access] // access, (MAPPED - access) // stride + 1)
    host.remote.store(host.tokens[1], 0, bytes(MAPPED))  # so that all of it is mapped
    host.remote.settle()
    begin = host.bus.now
    for at, size in transactions(access, stride, count):
        host.remote.store(host.tokens[1], at, bytes(size))
        host.bus.elapse(GAP if size < COMBINED else 0)
    host.remote.settle()
    return count * access / ((host.bus.now - begin) / 1e12) / MIB


def measured(host: RemoteHost) -> Figures:
    return {
        f"store.{access}.{stride}_mibps": strided(host, access, stride)
        for access, strides in STRIDES.items()
        for stride in strides
    } | {f"misaligned.{stride}_mibps": misaligned(host, stride) for stride in MISALIGNED}


def store_figures(nic: NicConfig) -> Figures:
    """Return figures of a NIC with an aperture: ``combined.store.<access>.<stride>_mibps``, and ``uncombined``."""
    found: Figures = {}
    for name, one in (("combined", nic), ("uncombined", uncombined(nic))):
        result: Figures = play([measured, idle], one, size=2 * MAPPED, costs=pentium3_800())[0]
        found |= {f"{name}.{what}": value for what, value in result.items()}
    return found
