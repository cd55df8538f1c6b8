"""Datatypes as they are in a file whose basic types have other sizes: built again from how they
were made.

Displacements and extents that the program gave in bytes stay as they are; those that count elements
follow the new sizes.
"""

from collections.abc import Callable
from functools import cache

from .arrays import darray, subarray
from .basic import BYTE
from .combiner import Combiner
from .construct import (
    contiguous,
    hindexed,
    hindexed_block,
    hvector,
    indexed,
    indexed_block,
    resized,
    struct,
    vector,
)
from .datatype import Datatype


def external(datatype: Datatype) -> Datatype:
    """Return a datatype as external32 lays it out: only types with a long, unsigned long or wide character inside
    differ.
    """
    if datatype.signature.external == datatype.size:
        return datatype
    return _rebuilt(datatype, lambda basic: _bytes(basic.signature.external))


def with_extents(datatype: Datatype, extent: Callable[[Datatype], int]) -> Datatype:
    """With the sizes that `extent` gives the predefined types inside."""
    return _rebuilt(datatype, lambda basic: basic if extent(basic) == basic.size else _bytes(extent(basic)))


@cache
def _bytes(size: int) -> Datatype:
    made = contiguous(size, BYTE)
    made.commit()
    return made


def _rebuilt(datatype: Datatype, replace: Callable[[Datatype], Datatype]) -> Datatype:
    """One type after those that it was built from: types may be nested deeper than Python calls may
    be."""
    made: dict[Datatype, Datatype] = {}
    pending = [datatype]
    while pending:
        old = pending[-1]
        inner = () if old.predefined else old.envelope.datatypes
        missing = [one for one in inner if one not in made]
        if missing:
            pending += missing
            continue
        pending.pop()
        if old not in made:
            made[old] = replace(old) if old.predefined else _again(old, [made[one] for one in inner])
    made[datatype].commit()
    return made[datatype]


def _again(old: Datatype, inner: list[Datatype]) -> Datatype:
    """The same constructor with other types."""
    if tuple(inner) == old.envelope.datatypes:
        return old
    combiner, envelope = old.envelope.combiner, old.envelope
    if combiner is Combiner.DUP:
        return inner[0]
    if combiner in (Combiner.SUBARRAY, Combiner.DARRAY):
        return _array(old, inner[0])
    numbers = [*envelope.integers, *envelope.addresses, *envelope.counts]
    if combiner in _REGULAR:
        return _REGULAR[combiner](*numbers, inner[0])
    if combiner is Combiner.RESIZED:
        return resized(inner[0], numbers[0], numbers[1])
    if combiner in _BLOCKS:
        return _BLOCKS[combiner](numbers[1], numbers[2:], inner[0])
    lengths, displacements = numbers[1 : 1 + numbers[0]], numbers[1 + numbers[0] :]
    if combiner is Combiner.STRUCT:
        return struct(lengths, displacements, inner)
    return (indexed if combiner is Combiner.INDEXED else hindexed)(lengths, displacements, inner[0])


_REGULAR: dict[Combiner, Callable[..., Datatype]] = {
    Combiner.CONTIGUOUS: contiguous,
    Combiner.VECTOR: vector,
    Combiner.HVECTOR: hvector,
}
_BLOCKS = {Combiner.INDEXED_BLOCK: indexed_block, Combiner.HINDEXED_BLOCK: hindexed_block}


def _array(old: Datatype, inner: Datatype) -> Datatype:
    integers, counts = list(old.envelope.integers), list(old.envelope.counts)
    if old.envelope.combiner is Combiner.SUBARRAY:
        dims, *numbers, order = [integers[0], *integers[1:-1], *counts, integers[-1]]
        sizes, subsizes, starts = (numbers[first * dims : (first + 1) * dims] for first in range(3))
        return subarray(sizes, subsizes, starts, order, inner)
    size, rank, dims, *rest, order = integers
    dealt = [*counts, *rest]
    sizes, distributions, arguments, grid = (dealt[first * dims : (first + 1) * dims] for first in range(4))
    return darray(size, rank, sizes, distributions, arguments, grid, order, inner)
