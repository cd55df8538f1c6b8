"""The communicator: all chapters together, and distributed graphs."""

from collections.abc import Iterable, Sequence

import numpy as np

from .base import LOCAL, CommunicatorBase
from .constants import IN_PLACE, PROC_NULL
from .errors import ErrorClass, MpiError
from .grids import Grids
from .info import Info
from .memory import Scratch
from .topology import DistributedGraph


class Communicator(Grids):
    """MPI_Comm. See `lanai_host.mpi` for the methods by chapter, `CommunicatorBase` for the fields."""

    _holds_number = False

    def number_agreed(self, number: int) -> None:
        """All members know the context number: the communicator may be used."""
        self.set_number(number)
        self._holds_number = True
        if self.is_inter:
            self.local = CommunicatorBase(self.world, number, self.group, kind=LOCAL)
            self.local.name = "the local group"

    def __del__(self) -> None:
        # Requests under way refer to their communicator, so the number comes free only when nothing can use it.
        if self._holds_number:
            self.world.contexts.release(self.number)

    # Distributed graphs

    def dist_graph_create_adjacent(
        self,
        sources: Sequence[int],
        source_weights: Sequence[int] | None,
        destinations: Sequence[int],
        destination_weights: Sequence[int] | None,
        info: Info | None,
        reorder: bool,
    ) -> "Communicator":
        """MPI_Dist_graph_create_adjacent. Weights None are MPI_UNWEIGHTED."""
        call = "MPI_Dist_graph_create_adjacent"
        self._intra(call)
        self._check_nodes(call, "sources", sources)
        self._check_nodes(call, "destinations", destinations)
        for name, weights in (("sourceweights", source_weights), ("destweights", destination_weights)):
            self._check_weights(call, name, weights)
        made = self.create_from(self.group, call)
        assert made is not None
        made.topology = DistributedGraph(
            tuple(sources),
            tuple(source_weights or ()),
            tuple(destinations),
            tuple(destination_weights or ()),
            source_weights is not None and destination_weights is not None,
        )
        return made

    def dist_graph_create(
        self,
        sources: Sequence[int],
        degrees: Sequence[int],
        destinations: Sequence[int],
        weights: Sequence[int] | None,
        info: Info | None,
        reorder: bool,
    ) -> "Communicator":
        """MPI_Dist_graph_create: each process knows some edges, which are sent to both of their ends."""
        call = "MPI_Dist_graph_create"
        self._intra(call)
        self._check_nodes(call, "sources", sources)
        self._check_nodes(call, "destinations", destinations)
        self._check_weights(call, "weights", weights)
        for index, degree in enumerate(degrees):
            if degree < 0:
                raise MpiError(ErrorClass.ARG, f"{call}: degrees[{index}] is {degree}; it must not be negative")
        edges = []
        position = 0
        for source, degree in zip(sources, degrees, strict=True):
            for edge in range(position, position + degree):
                edges.append((source, destinations[edge], weights[edge] if weights is not None else 0))
            position += degree
        table = self._all_edges(call, edges)
        made = self.create_from(self.group, call)
        assert made is not None
        incoming = [(source, weight) for source, dest, weight in table if dest == self.rank]
        outgoing = [(dest, weight) for source, dest, weight in table if source == self.rank]
        weighted = weights is not None
        made.topology = DistributedGraph(
            tuple(source for source, _ in incoming),
            tuple(weight for _, weight in incoming) if weighted else (),
            tuple(dest for dest, _ in outgoing),
            tuple(weight for _, weight in outgoing) if weighted else (),
            weighted,
        )
        return made

    def _check_nodes(self, call: str, name: str, ranks: Iterable[int]) -> None:
        for index, rank in enumerate(ranks):
            if not 0 <= rank < self.size and rank != PROC_NULL:
                raise MpiError(
                    ErrorClass.RANK, f"{call}: {name}[{index}] is {rank}; it must be from 0 to {self.size - 1}"
                )

    def _check_weights(self, call: str, name: str, weights: Iterable[int] | None) -> None:
        for index, weight in enumerate(weights or ()):
            if weight < 0:
                raise MpiError(ErrorClass.ARG, f"{call}: {name}[{index}] is {weight}; it must not be negative")

    def _all_edges(self, call: str, edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Everyone's edges, in rank order."""
        from .collectives import allgather, allgatherv
        from .collectives.parts import Part, Spread

        byte = self.world.byte
        in_place = Part(IN_PLACE, 0, byte)
        sizes = np.zeros(self.size, np.int64)
        sizes[self.rank] = 24 * len(edges)
        self.run(allgather, in_place, Part(sizes.__array_interface__["data"][0], 8, byte))
        starts = [int(start) for start in np.cumsum(sizes) - sizes]
        everything = Scratch(int(sizes.sum()))
        own = np.array(edges, np.int64).reshape(-1)
        everything.data[starts[self.rank] : starts[self.rank] + own.nbytes] = own.view(np.uint8)
        counts = [int(size) for size in sizes]
        self.run(allgatherv, in_place, Spread(everything.address, counts, starts, byte))
        rows = everything.data[: int(sizes.sum())].view(np.int64).reshape(-1, 3)
        return [(int(source), int(dest), int(weight)) for source, dest, weight in rows]

    def _distributed(self, call: str) -> DistributedGraph:
        if not isinstance(self.topology, DistributedGraph):
            raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no distributed graph topology")
        return self.topology

    def dist_graph_neighbors_count(self) -> tuple[int, int, bool]:
        """MPI_Dist_graph_neighbors_count: (in degree, out degree, weighted)."""
        graph = self._distributed("MPI_Dist_graph_neighbors_count")
        return len(graph.sources), len(graph.destinations), graph.weighted

    def dist_graph_neighbors(self) -> tuple[list[int], list[int], list[int], list[int]]:
        """MPI_Dist_graph_neighbors: (sources, their weights, destinations, their weights)."""
        graph = self._distributed("MPI_Dist_graph_neighbors")
        return (
            list(graph.sources),
            list(graph.source_weights),
            list(graph.destinations),
            list(graph.destination_weights),
        )
