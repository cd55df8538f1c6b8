"""A model of the fills of a node's second-level cache while a receiver unpacks a message, by the bytes
of a handshake (section 3.3.2).

The blocks of a datatype are visited in the order in which `lanai_host.mpi.datatypes` copies them: all
of one leaf within a handshake, then all of the next. The chunks of a message come from the adapter,
so none of them is in the cache before. Time is not modelled.
"""

from collections.abc import Iterator

from lanai_firmware.iss.cache import InstructionCache
from lanai_host.mpi.datatypes.layout import Layout, block, joined

from ..claims import Figures
from .constants import KIB, TOTAL

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


def figures(quick: bool) -> Figures:
    """``cache.<unequal or equal>.<bytes of a handshake>``."""
    return {f"cache.{name}.{chunk}": filled(layout, chunk) for name, layout in layouts().items() for chunk in CHUNKS}
