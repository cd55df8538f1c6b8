"""Runs of adjacent bytes as arrays: offsets in memory and lengths, in the order of the packed
stream."""

import numpy as np
import numpy.typing as npt

from ... import process_memory
from ..memory import address_of

Ints = npt.NDArray[np.int64]
NO_RUNS: tuple[Ints, Ints] = (np.empty(0, np.int64), np.empty(0, np.int64))


def merge_runs(offsets: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Join runs of which one begins where the one before ends."""
    begins = np.empty(len(offsets), bool)
    begins[:1] = True
    np.not_equal(offsets[1:], offsets[:-1] + lengths[:-1], out=begins[1:])
    firsts = np.flatnonzero(begins)
    if len(firsts) == len(offsets):
        return offsets, lengths
    return offsets[firsts], np.add.reduceat(lengths, firsts)


def cut_runs(offsets: Ints, lengths: Ints, packed: Ints, begin: int, end: int) -> tuple[Ints, Ints]:
    """Return the parts of some runs, which lie at `packed` in the stream, that are in its bytes begin..end-1;
    neighbours joined.
    """
    starts = np.maximum(packed, begin)
    sizes = np.minimum(packed + lengths, end) - starts
    inside = sizes > 0
    return merge_runs((offsets + starts - packed)[inside], sizes[inside])


class RunTable:
    """The runs of one element.

    Members:
        offsets, lengths: of each run.
        packed: bytes of the stream before it.
    """

    def __init__(self, offsets: Ints, lengths: Ints) -> None:
        self.offsets = np.ascontiguousarray(offsets)
        self.lengths = np.ascontiguousarray(lengths)
        self.packed: Ints = np.cumsum(lengths) - lengths
        self._native = len(lengths), address_of(self.offsets), address_of(self.lengths)

    def run_of(self, position: int) -> int:
        """The run that has byte `position` of the stream."""
        return int(np.searchsorted(self.packed, position, side="right")) - 1 if position else 0

    def runs_of(self, begin: int, end: int, extent: int, size: int) -> tuple[Ints, Ints]:
        """Offsets and lengths of the runs of bytes begin..end-1 of elements of `size` bytes that lie
        `extent` bytes apart."""
        elements = np.arange(begin // size, -(-end // size), dtype=np.int64)
        offsets = np.add.outer(elements * extent, self.offsets).ravel()
        packed = np.add.outer(elements * size, self.packed).ravel()
        return cut_runs(offsets, np.tile(self.lengths, len(elements)), packed, begin, end)

    def copy(self, packing: bool, stream: int, memory: int, extent: int, position: int, size: int) -> bool:
        """Copy `size` bytes from byte `position` of the element at `memory` on, and of those that
        follow it `extent` bytes apart, to or from the address `stream`. False if some of the memory
        cannot be reached."""
        run = self.run_of(position)
        skip = position - int(self.packed[run])
        return process_memory.copy_runs(packing, stream, memory, extent, self._native, run, skip, size)
