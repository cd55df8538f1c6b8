"""Runs of memory, (address, bytes) in a message's order, cut into pieces."""

from collections.abc import Sequence


def piece(runs: Sequence[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """The bytes `first` to `last` of a message."""
    cut = []
    position = 0
    for address, size in runs:
        start, stop = max(first, position), min(last, position + size)
        if start < stop:
            cut.append((address + start - position, stop - start))
        position += size
        if position >= last:
            break
    return cut
