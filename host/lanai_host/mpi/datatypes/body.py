"""The body of a message of elements of a datatype that leave gaps (see `lanai_host.body`).

A layout that keeps a table of its runs is copied run by run. Any other is copied leaf by leaf, so
that a message of a million blocks needs no table of them, from any byte to any byte (SC-14, SC-15).
The part of a leaf in the wanted part of the stream is found by arithmetic. The two blocks that the
part may cut are copied by themselves, the rest in strided boxes."""

from collections.abc import Iterator

from ... import process_memory
from ...body import Body
from .layout import Layout, Leaf, Turn
from .runs import Ints


class TypedBody(Body):
    """`count` elements of a layout, `extent` bytes apart, the first at `start`."""

    __slots__ = ("_count", "_extent", "_layout", "_start")

    def __init__(self, layout: Layout, extent: int, count: int, start: int) -> None:
        self._layout = layout
        self._extent = extent
        self._count = count
        self._start = start
        self.size = layout.size * count

    def __repr__(self) -> str:
        return f"TypedBody({self._count} of {self._layout.size} bytes at {self._start:#x})"

    def count_runs(self, begin: int, end: int) -> int:
        if begin or end != self.size:
            return sum(1 for _ in self.segments(begin, end))
        first, after = self._layout.ends
        joined = self._count - 1 if after == first + self._extent else 0  # elements that continue the one before
        return self._layout.run_count * self._count - joined

    def segments(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        end = self.size if end is None else end
        start = size = 0  # the last run found, which the next window may continue
        step = self._layout.window
        for first in range(begin, end, step):
            offsets, lengths = self._runs(first, min(first + step, end))
            for address, length in zip((offsets + self._start).tolist(), lengths.tolist(), strict=True):
                if start + size == address and size:
                    size += length
                    continue
                if size:
                    yield start, size
                start, size = address, length
        if size:
            yield start, size

    def pack(self, begin: int, end: int, stream: int) -> None:
        if not self._copy(True, begin, end, stream):
            raise self.unreadable()

    def unpack(self, begin: int, end: int, stream: int) -> None:
        if not self._copy(False, begin, end, stream):
            raise self.unwritable()

    def _copy(self, packing: bool, begin: int, end: int, stream: int) -> bool:
        layout, extent = self._layout, self._extent
        table = layout.table
        if table is not None:
            element, rest = divmod(begin, layout.size)
            return table.copy(packing, stream, self._start + element * extent, extent, rest, end - begin)
        leaves = layout.repeated_leaves(self._count, extent)
        return all(copy_leaf(packing, leaf, self._start, stream, begin, end) for leaf in leaves)

    def _runs(self, begin: int, end: int) -> tuple[Ints, Ints]:
        """Offsets and lengths of the runs of a part."""
        table = self._layout.table
        if table is None:
            return self._layout.runs_of(begin, end, self._count, self._extent)
        return table.runs_of(begin, end, self._extent, self._layout.size)


def copy_leaf(packing: bool, leaf: Leaf, address: int, stream: int, begin: int, end: int) -> bool:
    """Copy the bytes of a leaf that lie in begin..end-1 of the packed form, which are at `stream`. Return False if
    some of the memory cannot be reached."""
    origin = stream - begin
    first, last = leaf.blocks_before(begin), leaf.blocks_before(end)
    if first and not _copy_piece(packing, leaf, first - 1, address, origin, begin, end):
        return False  # the last block that begins before the part may reach into it
    if last <= first:
        return True
    if leaf.place(last - 1)[1] + leaf.length > end:
        last -= 1
        if not _copy_piece(packing, leaf, last, address, origin, begin, end):
            return False
    return all(_copy_box(packing, leaf, box, turns, address, origin) for box, turns in leaf.boxes(first, last))


def _copy_piece(packing: bool, leaf: Leaf, block: int, address: int, origin: int, begin: int, end: int) -> bool:
    """Copy what of one block lies inside the part."""
    offset, packed = leaf.place(block)
    start, stop = max(begin, packed), min(end, packed + leaf.length)
    if start >= stop:
        return True
    return process_memory.copy_blocks(packing, origin + start, address + offset + start - packed, stop - start, ())


def _copy_box(packing: bool, leaf: Leaf, first: int, turns: tuple[Turn, ...], address: int, origin: int) -> bool:
    """Copy a regular box of whole blocks."""
    offset, packed = leaf.place(first)
    return process_memory.copy_blocks(packing, origin + packed, address + offset, leaf.length, turns)
