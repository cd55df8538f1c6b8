"""MPI_Dims_create: a balanced grid."""

from collections.abc import Sequence
from math import prod

from .errors import ErrorClass, MpiError


def dims_create(nodes: int, dims: Sequence[int]) -> list[int]:
    """Fill the zeros of `dims` so that their product is `nodes`, as close to each other as can be, not increasing."""
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
    """`parts` factors of `nodes`, not increasing, with the smallest largest one, then the smallest second one, and so on."""
    if parts == 0:
        return []
    if parts == 1:
        return [nodes]
    best: list[int] | None = None
    for factor in _divisors(nodes):
        if factor**parts < nodes:
            continue
        rest = _balanced(nodes // factor, parts - 1)
        if rest[0] <= factor:
            best = [factor, *rest]
            break
    assert best is not None  # nodes itself always does
    return best


def _divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})
