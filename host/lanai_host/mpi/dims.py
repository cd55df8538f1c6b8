"""MPI_Dims_create: a balanced grid."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import prod

from .errors import ErrorClass, MpiError


def dims_create(nodes: int, dims: Sequence[int]) -> list[int]:
    """Fill the zeros of `dims` so that their product is `nodes`, as close to each other as can be,
    not increasing."""
    for index, extent in enumerate(dims):
        if extent < 0:
            raise MpiError(ErrorClass.DIMS, f"MPI_Dims_create: dims[{index}] is {extent}; it must not be negative")
    fixed = prod(extent for extent in dims if extent)
    free = sum(not extent for extent in dims)
    if nodes < 1 or nodes % fixed or (not free and nodes != fixed):
        raise MpiError(
            ErrorClass.DIMS,
            f"MPI_Dims_create: {nodes} nodes do not make a grid of {list(dims)}, whose product is {fixed}",
        )
    balanced = iter(_balanced(nodes // fixed, free))
    return [extent or next(balanced) for extent in dims]


def _balanced(nodes: int, parts: int) -> list[int]:
    """`parts` factors of `nodes`, not increasing: the smallest difference between the largest and
    the smallest one decides, then the largest smallest one, then the smallest largest one, and so
    on, as in MPICH."""
    if parts == 0:
        return []
    divisors = _divisors(nodes)
    best = [nodes, *[1] * (parts - 1)]
    for largest in divisors:
        if largest**parts < nodes:
            continue
        least = max(1, largest - (best[0] - best[-1]))  # no smaller one can be better
        if largest * least ** (parts - 1) > nodes:
            break  # nor can a larger largest one
        for rest in _factors(nodes // largest, parts - 1, least, largest, divisors):
            best = min(best, [largest, *rest], key=lambda found: (found[0] - found[-1], -found[-1], found))
    return best


def _factors(nodes: int, parts: int, least: int, most: int, divisors: Sequence[int]) -> Iterator[list[int]]:
    """All ways to write `nodes` as `parts` factors from `least` to `most`, not increasing."""
    if parts == 0:
        if nodes == 1:
            yield []
        return
    for factor in divisors[bisect_left(divisors, least) : bisect_right(divisors, most)]:
        if nodes % factor == 0 and factor**parts >= nodes:
            for rest in _factors(nodes // factor, parts - 1, least, factor, divisors):
                yield [factor, *rest]


def _divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})
