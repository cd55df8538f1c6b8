"""Cartesian and graph topologies as communicator methods."""

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from .constants import UNDEFINED
from .creation import Creating
from .errors import ErrorClass, MpiError
from .group import Group
from .topology import Cartesian, Graph

if TYPE_CHECKING:
    from .communicator import Communicator


class Grids(Creating):
    """The chapter's methods, but for distributed graphs. Ranks are never reordered: every node is as near as any other."""

    def topology_test(self) -> int:
        """MPI_Topo_test."""
        return UNDEFINED if self.topology is None else int(self.topology.kind)

    def _intra(self, call: str) -> None:
        if self.is_inter:
            raise MpiError(ErrorClass.COMM, f"{call}: the communicator is an inter-communicator")

    def _first(self, count: int) -> Group:
        return Group(self.group.members[:count], self.world.rank)

    # Cartesian

    def _check_grid(self, call: str, dims: Sequence[int]) -> int:
        for index, extent in enumerate(dims):
            if extent < 1:
                raise MpiError(ErrorClass.DIMS, f"{call}: dims[{index}] is {extent}; it must be at least 1")
        nodes = prod(dims)
        if nodes > self.size:
            raise MpiError(
                ErrorClass.DIMS,
                f"{call}: a grid of {list(dims)} needs {nodes} processes, the communicator has {self.size}",
            )
        return nodes

    def cart_create(self, dims: Sequence[int], periods: Sequence[bool], reorder: bool) -> "Communicator | None":
        """MPI_Cart_create."""
        self._intra("MPI_Cart_create")
        nodes = self._check_grid("MPI_Cart_create", dims)
        made = self.create_from(self._first(nodes), "MPI_Cart_create")
        if made is not None:
            made.topology = Cartesian(tuple(dims), tuple(bool(period) for period in periods))
        return made

    def cart_map(self, dims: Sequence[int], periods: Sequence[bool]) -> int:
        """MPI_Cart_map."""
        nodes = self._check_grid("MPI_Cart_map", dims)
        return self.rank if self.rank < nodes else UNDEFINED

    def _grid(self, call: str) -> Cartesian:
        if not isinstance(self.topology, Cartesian):
            raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no Cartesian topology")
        return self.topology

    def cartdim_get(self) -> int:
        """MPI_Cartdim_get."""
        return len(self._grid("MPI_Cartdim_get").dims)

    def cart_get(self) -> tuple[list[int], list[bool], list[int]]:
        """MPI_Cart_get: (dims, periods, own coordinates)."""
        grid = self._grid("MPI_Cart_get")
        return list(grid.dims), list(grid.periods), grid.coords_of(self.rank)

    def cart_rank(self, coords: Sequence[int]) -> int:
        """MPI_Cart_rank."""
        grid = self._grid("MPI_Cart_rank")
        for index, coordinate in enumerate(coords[: len(grid.dims)]):
            if not grid.periods[index] and not 0 <= coordinate < grid.dims[index]:
                raise MpiError(
                    ErrorClass.ARG,
                    f"MPI_Cart_rank: coords[{index}] is {coordinate}; it must be from 0 to {grid.dims[index] - 1}",
                )
        return grid.rank_of(list(coords[: len(grid.dims)]))

    def cart_coords(self, rank: int) -> list[int]:
        """MPI_Cart_coords."""
        grid = self._grid("MPI_Cart_coords")
        self._check_member("MPI_Cart_coords", rank)
        return grid.coords_of(rank)

    def _check_member(self, call: str, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise MpiError(ErrorClass.RANK, f"{call}: rank is {rank}; it must be from 0 to {self.size - 1}")

    def cart_shift(self, direction: int, displacement: int) -> tuple[int, int]:
        """MPI_Cart_shift: (source, destination)."""
        grid = self._grid("MPI_Cart_shift")
        if not 0 <= direction < len(grid.dims):
            raise MpiError(
                ErrorClass.ARG,
                f"MPI_Cart_shift: direction is {direction}, but the topology has {len(grid.dims)} dimensions",
            )
        return grid.shifted(self.rank, direction, -displacement), grid.shifted(self.rank, direction, displacement)

    def cart_sub(self, remain: Sequence[bool]) -> "Communicator":
        """MPI_Cart_sub."""
        grid = self._grid("MPI_Cart_sub")
        coords = grid.coords_of(self.rank)
        color = key = 0
        for coordinate, extent, kept in zip(coords, grid.dims, remain, strict=False):
            if kept:
                key = key * extent + coordinate
            else:
                color = color * extent + coordinate
        made = self._split("MPI_Cart_sub", color, key)
        assert made is not None
        kept_dims = [index for index in range(len(grid.dims)) if remain[index]]
        made.topology = Cartesian(
            tuple(grid.dims[index] for index in kept_dims), tuple(grid.periods[index] for index in kept_dims)
        )
        return made

    # Graphs

    def _check_graph(self, call: str, index: Sequence[int], edges: Sequence[int]) -> None:
        nodes = len(index)
        if nodes > self.size:
            raise MpiError(
                ErrorClass.ARG, f"{call}: the graph has {nodes} nodes, the communicator {self.size} processes"
            )
        for node, (last, this) in enumerate(zip([0, *index[:-1]], index, strict=True)) if nodes else ():
            if this < last:
                raise MpiError(ErrorClass.ARG, f"{call}: index[{node}] is {this}, less than the {last} before it")
        for number, neighbour in enumerate(edges):
            if not 0 <= neighbour < nodes:
                raise MpiError(ErrorClass.ARG, f"{call}: edges[{number}] is {neighbour}, but there are {nodes} nodes")

    def graph_create(self, index: Sequence[int], edges: Sequence[int], reorder: bool) -> "Communicator | None":
        """MPI_Graph_create. `edges` has as many elements as the last of `index` says."""
        self._intra("MPI_Graph_create")
        self._check_graph("MPI_Graph_create", index, edges)
        made = self.create_from(self._first(len(index)), "MPI_Graph_create")
        if made is not None:
            made.topology = Graph(tuple(index), tuple(edges))
        return made

    def graph_map(self, index: Sequence[int], edges: Sequence[int]) -> int:
        """MPI_Graph_map."""
        self._check_graph("MPI_Graph_map", index, edges)
        return self.rank if self.rank < len(index) else UNDEFINED

    def _graph(self, call: str) -> Graph:
        if not isinstance(self.topology, Graph):
            raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no graph topology")
        return self.topology

    def graphdims_get(self) -> tuple[int, int]:
        """MPI_Graphdims_get: (nodes, edges)."""
        graph = self._graph("MPI_Graphdims_get")
        return len(graph.index), len(graph.edges)

    def graph_get(self) -> tuple[list[int], list[int]]:
        """MPI_Graph_get: (index, edges)."""
        graph = self._graph("MPI_Graph_get")
        return list(graph.index), list(graph.edges)

    def graph_neighbors(self, rank: int, call: str = "MPI_Graph_neighbors") -> list[int]:
        """MPI_Graph_neighbors; MPI_Graph_neighbors_count is its length."""
        graph = self._graph(call)
        self._check_member(call, rank)
        return graph.of(rank)
