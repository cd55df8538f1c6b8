"""The windows of a collective access: which process accesses which part of the file, and which of a process's runs lie
in a part. Arithmetic only.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..datatypes.runs import Ints, merge_runs
from .hints import Hints
from .view import NOTHING, Runs

ALIGNMENT = 4096  # parts of different processes begin at multiples of this, so that they share no page


class Window(NamedTuple):
    """Bytes low..high-1 of the file, which process `rank` accesses for all."""

    rank: int
    low: int
    high: int


class Pieces(NamedTuple):
    """Runs, and where each lies in the stream of the process that they are of."""

    runs: Runs
    positions: Ints

    @property
    def size(self) -> int:
        return int(self.runs.lengths.sum())

    def segments(self, address: int) -> list[tuple[int, int]]:
        """Return where the pieces lie in memory, for a stream at `address`."""
        places, lengths = merge_runs(self.positions + address, self.runs.lengths)
        return list(zip(places.tolist(), lengths.tolist(), strict=True))


class Hull(NamedTuple):
    """First byte, the byte after the last, and the bytes of data of one process's access."""

    first: int
    end: int
    size: int


def plan(hulls: Sequence[Hull], hints: Hints, writing: bool) -> list[list[Window]]:
    """The windows of each round. None at all: every process accesses its own runs."""
    used = [hull for hull in hulls if hull.size]
    switch = hints.cb_write if writing else hints.cb_read
    if not used or switch == "disable" or (switch == "automatic" and not _interleaved(used)):
        return []
    low, high = min(hull.first for hull in used), max(hull.end for hull in used)
    share = -(-(high - low) // hints.cb_nodes)
    share = -(-share // ALIGNMENT) * ALIGNMENT
    starts = [low, *range(low // ALIGNMENT * ALIGNMENT + share, high, share)]
    ends = [*starts[1:], high]
    ranks = [index * len(hulls) // hints.cb_nodes for index in range(len(starts))]
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    rounds = []
    for done in range(0, longest, hints.cb_buffer_size):
        windows = (
            Window(rank, start + done, min(start + done + hints.cb_buffer_size, end))
            for rank, start, end in zip(ranks, starts, ends, strict=True)
        )
        rounds.append([window for window in windows if window.low < window.high])
    return rounds


def _interleaved(hulls: Sequence[Hull]) -> bool:
    """A process begins before one of lower rank has ended."""
    reached = 0
    for hull in hulls:
        if hull.first < reached:
            return True
        reached = max(reached, hull.end)
    return False


def cut(runs: Runs, low: int, high: int) -> Pieces:
    """Return the parts of a process's runs that lie in bytes low..high-1."""
    offsets, lengths = runs
    positions = np.cumsum(lengths) - lengths
    begins, ends = np.maximum(offsets, low), np.minimum(offsets + lengths, high)
    kept = ends > begins
    return Pieces(Runs(begins[kept], (ends - begins)[kept]), (positions + begins - offsets)[kept])


def united(several: Iterable[Runs]) -> Runs:
    """The bytes that any of them has, as runs that neither touch nor overlap, in order."""
    found = list(several)
    offsets = np.concatenate([runs.offsets for runs in found])
    if not len(offsets):
        return NOTHING
    ends = offsets + np.concatenate([runs.lengths for runs in found])
    order = np.argsort(offsets, kind="stable")
    offsets, ends = offsets[order], np.maximum.accumulate(ends[order])
    apart = np.flatnonzero(offsets[1:] > ends[:-1])
    firsts, lasts = np.concatenate(([0], apart + 1)), np.concatenate((apart, [len(ends) - 1]))
    return Runs(offsets[firsts], ends[lasts] - offsets[firsts])
