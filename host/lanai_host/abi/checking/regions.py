"""Memory as a list of (first address, address after the last), and what two such lists share."""

import hashlib
import itertools

from ... import process_memory
from ...bus.base import BusError
from ...mpi.datatypes import Datatype

MOST = 4096  # regions of one buffer; buffers in more pieces are not looked at
Regions = tuple[tuple[int, int], ...]


def regions_of(datatype: Datatype, address: int, count: int) -> Regions:
    """Return where `count` elements at `address` lie, in the order of the message."""
    if count <= 0 or datatype.size == 0:
        return ()
    body = datatype.body(address, count)
    if body.runs > MOST:
        return ()
    return tuple((start, start + size) for start, size in body.segments() if size)


def shared(mine: Regions, others: Regions) -> int | None:
    """Return the first address that both have; None if there is none."""
    one, other = sorted(mine), sorted(others)
    i = j = 0
    while i < len(one) and j < len(other):
        first = max(one[i][0], other[j][0])
        if first < min(one[i][1], other[j][1]):
            return first
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return None


def overlaps_itself(regions: Regions) -> bool:
    """Return if some byte is there twice."""
    ordered = sorted(regions)
    return any(before[1] > after[0] for before, after in itertools.pairwise(ordered))


def size_of(regions: Regions) -> int:
    return sum(end - begin for begin, end in regions)


def digest(regions: Regions) -> bytes | None:
    """Return a digest of the bytes there; None if they cannot be read."""
    found = hashlib.blake2b(digest_size=8)
    try:
        for begin, end in regions:
            found.update(process_memory.read(begin, end - begin))
    except BusError:
        return None
    return found.digest()
