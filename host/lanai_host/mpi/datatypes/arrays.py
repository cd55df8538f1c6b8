"""Datatypes of parts of arrays: a rectangular part, and a process's share of a distributed
array."""

import math
from collections.abc import Callable, Sequence
from functools import cache

from ..errors import ErrorClass, MpiError
from .basic import BYTE
from .construct import contiguous, hindexed, hindexed_block, hvector, indexed, indexed_block, resized, struct, vector
from .datatype import Datatype, Envelope
from .layout import Layout, joined
from .signature import DEFAULT_ARGUMENT, Combiner, Distribution, Order


def _order(call: str, order: int) -> Order:
    try:
        return Order(order)
    except ValueError:
        text = f"{call}: order is {order}; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN"
        raise MpiError(ErrorClass.ARG, text) from None


def _array_type(
    lay: Callable[[], Layout], sizes: Sequence[int], old: Datatype, elements: int, envelope: Envelope
) -> Datatype:
    """A type with the extent of the whole array."""
    total = old.extent
    for size in sizes:
        total *= size
    return Datatype(
        lambda: (lay(), old.signature.repeated(elements)),
        elements * old.size,
        old.lb,
        total,
        alignment=old.alignment,
        markers=(True, True),
        envelope=envelope,
    )


def subarray(
    sizes: Sequence[int],
    subsizes: Sequence[int],
    starts: Sequence[int],
    order: int,
    old: Datatype,
    large: bool = False,
) -> Datatype:
    """MPI_Type_create_subarray."""
    call = "MPI_Type_create_subarray"
    if not sizes:
        raise MpiError(ErrorClass.ARG, f"{call}: ndims is 0; it must be positive")
    _order(call, order)
    for index, (size, subsize, start) in enumerate(zip(sizes, subsizes, starts, strict=True)):
        if size < 1:
            raise MpiError(ErrorClass.ARG, f"{call}: array_of_sizes[{index}] is {size}; it must be positive")
        if not 1 <= subsize <= size:
            raise MpiError(
                ErrorClass.ARG, f"{call}: array_of_subsizes[{index}] is {subsize}; it must be from 1 to {size}"
            )
        if not 0 <= start <= size - subsize:
            raise MpiError(
                ErrorClass.ARG, f"{call}: array_of_starts[{index}] is {start}; it must be from 0 to {size - subsize}"
            )
    numbers = (*sizes, *subsizes, *starts)
    if large:
        envelope = Envelope(Combiner.SUBARRAY, (len(sizes), order), (), numbers, (old,))
    else:
        envelope = Envelope(Combiner.SUBARRAY, (len(sizes), *numbers, order), (), (), (old,))
    dimensions = list(zip(sizes, subsizes, starts, strict=True))
    if order == Order.C:
        dimensions.reverse()

    def lay() -> Layout:
        layout, extent = old.layout, old.extent
        for size, subsize, start in dimensions:  # fastest first
            layout = layout.repeated(subsize, extent).moved(start * extent)
            extent *= size
        return layout

    return _array_type(lay, sizes, old, math.prod(subsizes), envelope)


def _share(size: int, distribution: int, argument: int, processes: int, position: int) -> list[tuple[int, int]]:
    """Return the indices of a dimension that this process has, as (first, count) runs."""
    call = "MPI_Type_create_darray"
    if distribution == Distribution.NONE or (processes == 1 and distribution in tuple(Distribution)):
        if processes != 1:
            raise MpiError(ErrorClass.ARG, f"{call}: a dimension that is not distributed has {processes} processes")
        return [(0, size)]
    if distribution == Distribution.BLOCK:
        chunk = -(-size // processes) if argument == DEFAULT_ARGUMENT else argument
        if chunk < 1 or chunk * processes < size:
            raise MpiError(
                ErrorClass.ARG,
                f"{call}: blocks of {chunk} on {processes} processes do not cover a dimension of {size}",
            )
        count = max(0, min(chunk, size - position * chunk))
        return [(position * chunk, count)] if count else []
    if distribution == Distribution.CYCLIC:
        chunk = 1 if argument == DEFAULT_ARGUMENT else argument
        if chunk < 1:
            raise MpiError(ErrorClass.ARG, f"{call}: array_of_dargs has {argument}; it must be positive")
        starts = range(position * chunk, size, processes * chunk)
        return [(start, min(chunk, size - start)) for start in starts]
    raise MpiError(
        ErrorClass.ARG, f"{call}: {distribution} is not a distribution (MPI_DISTRIBUTE_BLOCK, _CYCLIC, _NONE)"
    )


def _grid_position(rank: int, grid: Sequence[int]) -> list[int]:
    position = []
    for extent in reversed(grid):  # process grids are row-major whatever the order of the array
        position.append(rank % extent)
        rank //= extent
    return position[::-1]


def darray(
    size: int,
    rank: int,
    global_sizes: Sequence[int],
    distributions: Sequence[int],
    arguments: Sequence[int],
    grid: Sequence[int],
    order: int,
    old: Datatype,
    large: bool = False,
) -> Datatype:
    """MPI_Type_create_darray: what process `rank` of a `grid` of `size` processes holds of a
    distributed array."""
    call = "MPI_Type_create_darray"
    _order(call, order)
    processes = 1
    for extent in grid:
        processes *= extent
    if processes != size:
        raise MpiError(ErrorClass.ARG, f"{call}: the process grid has {processes} places, but size is {size}")
    if not 0 <= rank < size:
        raise MpiError(ErrorClass.ARG, f"{call}: rank is {rank}; it must be from 0 to {size - 1}")
    for index, extent in enumerate(global_sizes):
        if extent < 1:
            raise MpiError(ErrorClass.ARG, f"{call}: array_of_gsizes[{index}] is {extent}; it must be positive")
    dealt = (*distributions, *arguments, *grid)
    if large:
        envelope = Envelope(
            Combiner.DARRAY, (size, rank, len(global_sizes), *dealt, order), (), tuple(global_sizes), (old,)
        )
    else:
        integers = (size, rank, len(global_sizes), *global_sizes, *dealt, order)
        envelope = Envelope(Combiner.DARRAY, integers, (), (), (old,))
    position = _grid_position(rank, grid)
    dimensions = list(zip(global_sizes, distributions, arguments, grid, position, strict=True))
    if order == Order.C:
        dimensions.reverse()
    shares = [(length, _share(length, *dealing)) for length, *dealing in dimensions]
    elements = math.prod(sum(count for _, count in runs) for _, runs in shares)

    def lay() -> Layout:
        layout, extent = old.layout, old.extent
        for length, runs in shares:  # fastest first
            layout = _joined_runs(layout, runs, extent)
            extent *= length
        return layout

    return _array_type(lay, global_sizes, old, elements, envelope)


def _joined_runs(layout: Layout, runs: Sequence[tuple[int, int]], extent: int) -> Layout:
    return joined((first * extent, layout.repeated(count, extent)) for first, count in runs)


# Datatypes as they are in a file whose basic types have other sizes: built again from how they
# were made.
#
# Displacements and extents that the program gave in bytes stay as they are; those that count elements
# follow the new sizes.


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
