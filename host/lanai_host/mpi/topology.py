"""Process topologies as values: Cartesian grids, graphs, distributed graphs."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .constants import PROC_NULL, UNDEFINED, TopologyKind
from .errors import ErrorClass, MpiError


@dataclass(frozen=True)
class Cartesian:
    """A grid, row-major: the last dimension varies fastest with the rank."""

    kind = TopologyKind.CART
    dims: tuple[int, ...]
    periods: tuple[bool, ...]

    def rank_of(self, coords: list[int]) -> int:
        """The rank at `coords`, which lie inside the grid or in a periodic dimension."""
        rank = 0
        for coordinate, extent in zip(coords, self.dims, strict=True):
            rank = rank * extent + coordinate % extent
        return rank

    def coords_of(self, rank: int) -> list[int]:
        coords = []
        for extent in reversed(self.dims):
            coords.append(rank % extent)
            rank //= extent
        return coords[::-1]

    def shifted(self, rank: int, direction: int, displacement: int) -> int:
        """The rank `displacement` steps along `direction`, or PROC_NULL beyond an edge."""
        coords = self.coords_of(rank)
        coords[direction] += displacement
        if not self.periods[direction] and not 0 <= coords[direction] < self.dims[direction]:
            return PROC_NULL
        return self.rank_of(coords)

    def neighbours(self, rank: int) -> tuple[list[int], list[int]]:
        """Sources and destinations of neighbourhood collectives: below, above in each dimension."""
        around = []
        for direction in range(len(self.dims)):
            around.append(self.shifted(rank, direction, -1))
            around.append(self.shifted(rank, direction, 1))
        return around, around


@dataclass(frozen=True)
class Graph:
    """`index[i]` counts the edges of nodes 0..i, `edges` lists them."""

    kind = TopologyKind.GRAPH
    index: tuple[int, ...]
    edges: tuple[int, ...]

    def of(self, rank: int) -> list[int]:
        first = self.index[rank - 1] if rank else 0
        return list(self.edges[first : self.index[rank]])

    def neighbours(self, rank: int) -> tuple[list[int], list[int]]:
        around = self.of(rank)
        return around, around


@dataclass(frozen=True)
class DistributedGraph:
    """This process's part of a graph: who sends to it, whom it sends to. Weights are empty if it is
    not `weighted`."""

    kind = TopologyKind.DIST_GRAPH
    sources: tuple[int, ...]
    source_weights: tuple[int, ...]
    destinations: tuple[int, ...]
    destination_weights: tuple[int, ...]
    weighted: bool

    def neighbours(self, rank: int) -> tuple[list[int], list[int]]:
        return list(self.sources), list(self.destinations)


Topology = Cartesian | Graph | DistributedGraph


def topology_test(topology: Topology | None) -> int:
    """MPI_Topo_test of a communicator that has this topology."""
    return UNDEFINED if topology is None else int(topology.kind)


# MPI_Dims_create: a balanced grid.


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
