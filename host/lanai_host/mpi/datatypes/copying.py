"""Copies between memory and a packed stream leaf by leaf, from any byte to any byte (SC-14, SC-15).

What of a leaf lies in the wanted part of the stream is found by arithmetic. The two blocks that the
part may cut are copied by themselves, the rest in strided boxes. Each function answers False if
some of the memory cannot be reached."""

from ... import process_memory
from .layout import Leaf, Turn


def copy_leaf(packing: bool, leaf: Leaf, address: int, stream: int, begin: int, end: int) -> bool:
    """Copy what of a leaf lies in bytes begin..end-1 of the packed form, which are at `stream`."""
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
