"""Process topologies."""

from collections.abc import Sequence
from typing import Any

from ...mpi import grids
from ...mpi import grids as graphs
from ...mpi.constants import UNDEFINED, TopologyKind
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.topology import dims_create, topology_test
from ..binding import bind, binding
from ..context import abi


def _first(pointer: Any, room: int, values: Sequence[int]) -> None:
    """Write as many values as the program has space for."""
    abi.put_ints(pointer, values[:room])


@binding
def MPI_Topo_test(comm: Any) -> int:
    kind = topology_test(comm.topology)
    return UNDEFINED if kind == UNDEFINED else abi.constants[f"MPI_{TopologyKind(kind).name}"]


@binding
def MPI_Dims_create(nnodes: int, ndims: int, dims: Any) -> None:
    abi.put_ints(dims, dims_create(nnodes, abi.ints(dims, ndims)))


# Grids


@binding
def MPI_Cart_create(comm_old: Any, ndims: int, dims: Any, periods: Any, reorder: int) -> Any:
    if ndims < 0:
        raise MpiError(ErrorClass.DIMS, f"MPI_Cart_create: ndims is {ndims}; it must not be negative")
    return grids.cart_create(comm_old, abi.ints(dims, ndims), _flags(periods, ndims), bool(reorder))


def _flags(pointer: Any, count: int) -> list[bool]:
    return [bool(value) for value in abi.ints(pointer, count)]


@binding
def MPI_Cart_map(comm: Any, ndims: int, dims: Any, periods: Any) -> int:
    return grids.cart_map(comm, abi.ints(dims, ndims), _flags(periods, ndims))


@binding
def MPI_Cart_get(comm: Any, maxdims: int, dims: Any, periods: Any, coords: Any) -> None:
    extents, periodic, own = grids.cart_get(comm)
    _first(dims, maxdims, extents)
    _first(periods, maxdims, periodic)
    _first(coords, maxdims, own)


bind("MPI_Cartdim_get", grids.cartdim_get)
bind("MPI_Cart_rank", lambda comm, coords: grids.cart_rank(comm, abi.ints(coords, grids.cartdim_get(comm))))
bind("MPI_Cart_shift", grids.cart_shift, "comm direction disp")
bind("MPI_Cart_sub", lambda comm, remain_dims: grids.cart_sub(comm, _flags(remain_dims, grids.cartdim_get(comm))))


@binding
def MPI_Cart_coords(comm: Any, rank: int, maxdims: int, coords: Any) -> None:
    _first(coords, maxdims, grids.cart_coords(comm, rank))


# Graphs


def _nodes(pointer: Any, nodes: int, edges: Any) -> tuple[list[int], list[int]]:
    index = abi.ints(pointer, nodes)
    return index, abi.ints(edges, index[-1] if index else 0)


@binding
def MPI_Graph_create(comm_old: Any, nnodes: int, indx: Any, edges: Any, reorder: int) -> Any:
    return graphs.graph_create(comm_old, *_nodes(indx, nnodes, edges), bool(reorder))


@binding
def MPI_Graph_map(comm: Any, nnodes: int, indx: Any, edges: Any) -> int:
    return graphs.graph_map(comm, *_nodes(indx, nnodes, edges))


@binding
def MPI_Graph_get(comm: Any, maxindex: int, maxedges: int, indx: Any, edges: Any) -> None:
    index, ends = graphs.graph_get(comm)
    _first(indx, maxindex, index)
    _first(edges, maxedges, ends)


bind("MPI_Graphdims_get", graphs.graphdims_get)
bind(
    "MPI_Graph_neighbors_count", lambda comm, rank: len(graphs.graph_neighbors(comm, rank, "MPI_Graph_neighbors_count"))
)


@binding
def MPI_Graph_neighbors(comm: Any, rank: int, maxneighbors: int, neighbors: Any) -> None:
    _first(neighbors, maxneighbors, graphs.graph_neighbors(comm, rank))


# Distributed graphs


def _weights(pointer: Any, count: int) -> list[int] | None:
    address = abi.address(pointer)
    if address == abi.unweighted:
        return None
    return [] if address == abi.weights_empty else abi.ints(pointer, count)


@binding
def MPI_Dist_graph_create(
    comm_old: Any, n: int, sources: Any, degrees: Any, destinations: Any, weights: Any, info: Any, reorder: int
) -> Any:
    if n < 0:
        raise MpiError(ErrorClass.ARG, f"MPI_Dist_graph_create: n is {n}; it must not be negative")
    counts = abi.ints(degrees, n)
    edges = sum(counts)
    return graphs.dist_graph_create(
        comm_old,
        abi.ints(sources, n),
        counts,
        abi.ints(destinations, edges),
        _weights(weights, edges),
        info,
        bool(reorder),
    )


@binding
def MPI_Dist_graph_create_adjacent(
    comm_old: Any,
    indegree: int,
    sources: Any,
    sourceweights: Any,
    outdegree: int,
    destinations: Any,
    destweights: Any,
    info: Any,
    reorder: int,
) -> Any:
    for name, degree in (("indegree", indegree), ("outdegree", outdegree)):
        if degree < 0:
            raise MpiError(
                ErrorClass.ARG, f"MPI_Dist_graph_create_adjacent: {name} is {degree}; it must not be negative"
            )
    return graphs.dist_graph_create_adjacent(
        comm_old,
        abi.ints(sources, indegree),
        _weights(sourceweights, indegree),
        abi.ints(destinations, outdegree),
        _weights(destweights, outdegree),
        info,
        bool(reorder),
    )


bind("MPI_Dist_graph_neighbors_count", graphs.dist_graph_neighbors_count)


@binding
def MPI_Dist_graph_neighbors(
    comm: Any,
    maxindegree: int,
    sources: Any,
    sourceweights: Any,
    maxoutdegree: int,
    destinations: Any,
    destweights: Any,
) -> None:
    found = graphs.dist_graph_neighbors(comm)
    _first(sources, maxindegree, found[0])
    _first(destinations, maxoutdegree, found[2])
    for pointer, room, values in ((sourceweights, maxindegree, found[1]), (destweights, maxoutdegree, found[3])):
        if abi.address(pointer) not in (abi.unweighted, abi.weights_empty):
            _first(pointer, room, values)
