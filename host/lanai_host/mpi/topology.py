"""Process topologies as values: Cartesian grids, graphs, distributed graphs."""

from dataclasses import dataclass

from .constants import PROC_NULL, UNDEFINED, TopologyKind


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
