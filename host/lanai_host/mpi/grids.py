"""Cartesian topologies. Ranks are never reordered: every node is as near as any other."""

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from .arguments import check_intra, check_member
from .attributes import Info
from .collectives import allgather, allgatherv, run
from .collectives.checks import Part, Spread
from .communicator import Communicator
from .constants import IN_PLACE, PROC_NULL, UNDEFINED
from .datatypes import BYTE
from .errors import ErrorClass, MpiError
from .making import create_from, split_as
from .memory import Scratch, address_of, zeros
from .topology import Cartesian, DistributedGraph, Graph


def cart_create(comm: Communicator, dims: Sequence[int], periods: Sequence[bool], reorder: bool) -> Communicator | None:
    """MPI_Cart_create."""
    check_intra(comm, "MPI_Cart_create")
    nodes = _check_grid(comm, "MPI_Cart_create", dims)
    made = create_from(comm, comm.group.first(nodes), "MPI_Cart_create")
    if made is not None:
        made.topology = Cartesian(tuple(dims), tuple(bool(period) for period in periods))
    return made


def cart_map(comm: Communicator, dims: Sequence[int], periods: Sequence[bool]) -> int:
    """MPI_Cart_map."""
    nodes = _check_grid(comm, "MPI_Cart_map", dims)
    return comm.rank if comm.rank < nodes else UNDEFINED


def _check_grid(comm: Communicator, call: str, dims: Sequence[int]) -> int:
    for index, extent in enumerate(dims):
        if extent < 1:
            raise MpiError(ErrorClass.DIMS, f"{call}: dims[{index}] is {extent}; it must be at least 1")
    nodes = prod(dims)
    if nodes > comm.size:
        raise MpiError(
            ErrorClass.DIMS,
            f"{call}: a grid of {list(dims)} needs {nodes} processes, the communicator has {comm.size}",
        )
    return nodes


def cartdim_get(comm: Communicator) -> int:
    """MPI_Cartdim_get."""
    return len(_grid(comm, "MPI_Cartdim_get").dims)


def cart_get(comm: Communicator) -> tuple[list[int], list[bool], list[int]]:
    """MPI_Cart_get: (dims, periods, own coordinates)."""
    grid = _grid(comm, "MPI_Cart_get")
    return list(grid.dims), list(grid.periods), grid.coords_of(comm.rank)


def cart_rank(comm: Communicator, coords: Sequence[int]) -> int:
    """MPI_Cart_rank."""
    grid = _grid(comm, "MPI_Cart_rank")
    for index, coordinate in enumerate(coords[: len(grid.dims)]):
        if not grid.periods[index] and not 0 <= coordinate < grid.dims[index]:
            raise MpiError(
                ErrorClass.ARG,
                f"MPI_Cart_rank: coords[{index}] is {coordinate}; it must be from 0 to {grid.dims[index] - 1}",
            )
    return grid.rank_of(list(coords[: len(grid.dims)]))


def cart_coords(comm: Communicator, rank: int) -> list[int]:
    """MPI_Cart_coords."""
    grid = _grid(comm, "MPI_Cart_coords")
    check_member(comm, "MPI_Cart_coords", rank)
    return grid.coords_of(rank)


def cart_shift(comm: Communicator, direction: int, displacement: int) -> tuple[int, int]:
    """MPI_Cart_shift: (source, destination)."""
    grid = _grid(comm, "MPI_Cart_shift")
    if not 0 <= direction < len(grid.dims):
        raise MpiError(
            ErrorClass.ARG,
            f"MPI_Cart_shift: direction is {direction}, but the topology has {len(grid.dims)} dimensions",
        )
    return grid.shifted(comm.rank, direction, -displacement), grid.shifted(comm.rank, direction, displacement)


def cart_sub(comm: Communicator, remain: Sequence[bool]) -> Communicator:
    """MPI_Cart_sub."""
    grid = _grid(comm, "MPI_Cart_sub")
    coords = grid.coords_of(comm.rank)
    color = key = 0
    for coordinate, extent, kept in zip(coords, grid.dims, remain, strict=False):
        if kept:
            key = key * extent + coordinate
        else:
            color = color * extent + coordinate
    made = split_as(comm, "MPI_Cart_sub", color, key)
    assert made is not None
    kept_dims = [index for index in range(len(grid.dims)) if remain[index]]
    made.topology = Cartesian(
        tuple(grid.dims[index] for index in kept_dims), tuple(grid.periods[index] for index in kept_dims)
    )
    return made


def _grid(comm: Communicator, call: str) -> Cartesian:
    if not isinstance(comm.topology, Cartesian):
        raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no Cartesian topology")
    return comm.topology


# Graph topologies, which all processes know whole, and distributed ones. Ranks are never
# reordered.

# Graphs that all know whole


def graph_create(comm: Communicator, index: Sequence[int], edges: Sequence[int], reorder: bool) -> Communicator | None:
    """MPI_Graph_create. `edges` has as many elements as the last of `index` says."""
    check_intra(comm, "MPI_Graph_create")
    _check_graph(comm, "MPI_Graph_create", index, edges)
    made = create_from(comm, comm.group.first(len(index)), "MPI_Graph_create")
    if made is not None:
        made.topology = Graph(tuple(index), tuple(edges))
    return made


def graph_map(comm: Communicator, index: Sequence[int], edges: Sequence[int]) -> int:
    """MPI_Graph_map."""
    _check_graph(comm, "MPI_Graph_map", index, edges)
    return comm.rank if comm.rank < len(index) else UNDEFINED


def _check_graph(comm: Communicator, call: str, index: Sequence[int], edges: Sequence[int]) -> None:
    nodes = len(index)
    if nodes > comm.size:
        raise MpiError(ErrorClass.ARG, f"{call}: the graph has {nodes} nodes, the communicator {comm.size} processes")
    for node, (last, this) in enumerate(zip([0, *index[:-1]], index, strict=True)) if nodes else ():
        if this < last:
            raise MpiError(ErrorClass.ARG, f"{call}: index[{node}] is {this}, less than the {last} before it")
    for number, neighbour in enumerate(edges):
        if not 0 <= neighbour < nodes:
            raise MpiError(ErrorClass.ARG, f"{call}: edges[{number}] is {neighbour}, but there are {nodes} nodes")


def graphdims_get(comm: Communicator) -> tuple[int, int]:
    """MPI_Graphdims_get: (nodes, edges)."""
    graph = _graph(comm, "MPI_Graphdims_get")
    return len(graph.index), len(graph.edges)


def graph_get(comm: Communicator) -> tuple[list[int], list[int]]:
    """MPI_Graph_get: (index, edges)."""
    graph = _graph(comm, "MPI_Graph_get")
    return list(graph.index), list(graph.edges)


def graph_neighbors(comm: Communicator, rank: int, call: str = "MPI_Graph_neighbors") -> list[int]:
    """MPI_Graph_neighbors; MPI_Graph_neighbors_count is its length."""
    graph = _graph(comm, call)
    check_member(comm, call, rank)
    return graph.of(rank)


def _graph(comm: Communicator, call: str) -> Graph:
    if not isinstance(comm.topology, Graph):
        raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no graph topology")
    return comm.topology


# Distributed graphs


def dist_graph_create_adjacent(
    comm: Communicator,
    sources: Sequence[int],
    source_weights: Sequence[int] | None,
    destinations: Sequence[int],
    destination_weights: Sequence[int] | None,
    info: Info | None,
    reorder: bool,
) -> Communicator:
    """MPI_Dist_graph_create_adjacent. Weights None are MPI_UNWEIGHTED."""
    call = "MPI_Dist_graph_create_adjacent"
    check_intra(comm, call)
    _check_nodes(comm, call, "sources", sources)
    _check_nodes(comm, call, "destinations", destinations)
    for name, weights in (("sourceweights", source_weights), ("destweights", destination_weights)):
        _check_weights(comm, call, name, weights)
    made = create_from(comm, comm.group, call)
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
    comm: Communicator,
    sources: Sequence[int],
    degrees: Sequence[int],
    destinations: Sequence[int],
    weights: Sequence[int] | None,
    info: Info | None,
    reorder: bool,
) -> Communicator:
    """MPI_Dist_graph_create: each process knows some edges, which are sent to both of their
    ends."""
    call = "MPI_Dist_graph_create"
    check_intra(comm, call)
    _check_nodes(comm, call, "sources", sources)
    _check_nodes(comm, call, "destinations", destinations)
    _check_weights(comm, call, "weights", weights)
    for index, degree in enumerate(degrees):
        if degree < 0:
            raise MpiError(ErrorClass.ARG, f"{call}: degrees[{index}] is {degree}; it must not be negative")
    edges = []
    position = 0
    for source, degree in zip(sources, degrees, strict=True):
        for edge in range(position, position + degree):
            edges.append((source, destinations[edge], weights[edge] if weights is not None else 0))
        position += degree
    table = _all_edges(comm, call, edges)
    made = create_from(comm, comm.group, call)
    assert made is not None
    incoming = [(source, weight) for source, dest, weight in table if dest == comm.rank]
    outgoing = [(dest, weight) for source, dest, weight in table if source == comm.rank]
    weighted = weights is not None
    made.topology = DistributedGraph(
        tuple(source for source, _ in incoming),
        tuple(weight for _, weight in incoming) if weighted else (),
        tuple(dest for dest, _ in outgoing),
        tuple(weight for _, weight in outgoing) if weighted else (),
        weighted,
    )
    return made


def _check_nodes(comm: Communicator, call: str, name: str, ranks: Iterable[int]) -> None:
    for index, rank in enumerate(ranks):
        if not 0 <= rank < comm.size and rank != PROC_NULL:
            raise MpiError(ErrorClass.RANK, f"{call}: {name}[{index}] is {rank}; it must be from 0 to {comm.size - 1}")


def _check_weights(comm: Communicator, call: str, name: str, weights: Iterable[int] | None) -> None:
    for index, weight in enumerate(weights or ()):
        if weight < 0:
            raise MpiError(ErrorClass.ARG, f"{call}: {name}[{index}] is {weight}; it must not be negative")


def _all_edges(comm: Communicator, call: str, edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Everyone's edges, in rank order."""
    in_place = Part(IN_PLACE, 0, BYTE)
    sizes = zeros(comm.size, np.int64)
    sizes[comm.rank] = 24 * len(edges)
    run(comm, allgather, in_place, Part(address_of(sizes), 8, BYTE))
    starts = [int(start) for start in np.cumsum(sizes) - sizes]
    everything = Scratch(int(sizes.sum()))
    own = np.array(edges, np.int64).reshape(-1)
    everything.data[starts[comm.rank] : starts[comm.rank] + own.nbytes] = own.view(np.uint8)
    counts = [int(size) for size in sizes]
    run(comm, allgatherv, in_place, Spread(everything.address, counts, starts, BYTE))
    rows = everything.data[: int(sizes.sum())].view(np.int64).reshape(-1, 3)
    return [(int(source), int(dest), int(weight)) for source, dest, weight in rows]


def dist_graph_neighbors_count(comm: Communicator) -> tuple[int, int, bool]:
    """MPI_Dist_graph_neighbors_count: (in degree, out degree, weighted)."""
    graph = _distributed(comm, "MPI_Dist_graph_neighbors_count")
    return len(graph.sources), len(graph.destinations), graph.weighted


def dist_graph_neighbors(comm: Communicator) -> tuple[list[int], list[int], list[int], list[int]]:
    """MPI_Dist_graph_neighbors: (sources, their weights, destinations, their weights)."""
    graph = _distributed(comm, "MPI_Dist_graph_neighbors")
    return (
        list(graph.sources),
        list(graph.source_weights),
        list(graph.destinations),
        list(graph.destination_weights),
    )


def _distributed(comm: Communicator, call: str) -> DistributedGraph:
    if not isinstance(comm.topology, DistributedGraph):
        raise MpiError(ErrorClass.TOPOLOGY, f"{call}: the communicator has no distributed graph topology")
    return comm.topology
