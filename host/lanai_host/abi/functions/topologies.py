"""Process topologies."""

from collections.abc import Sequence
from typing import Any

from ...mpi.constants import UNDEFINED, TopologyKind
from ...mpi.dims import dims_create
from ...mpi.errors import ErrorClass, MpiError
from ..binding import bind, binding
from ..context import abi


def _first(pointer: Any, room: int, values: Sequence[int]) -> None:
    """As many values as the program has room for."""
    abi.put_ints(pointer, values[:room])


@binding
def MPI_Topo_test(comm: Any) -> int:
    kind = comm.topology_test()
    return UNDEFINED if kind == UNDEFINED else abi.constants[f"MPI_{TopologyKind(kind).name}"]


@binding
def MPI_Dims_create(nnodes: int, ndims: int, dims: Any) -> None:
    abi.put_ints(dims, dims_create(nnodes, abi.ints(dims, ndims)))


# Grids


@binding
def MPI_Cart_create(comm_old: Any, ndims: int, dims: Any, periods: Any, reorder: int) -> Any:
    if ndims < 0:
        raise MpiError(ErrorClass.DIMS, f"MPI_Cart_create: ndims is {ndims}; it must not be negative")
    return comm_old.cart_create(abi.ints(dims, ndims), _flags(periods, ndims), bool(reorder))


def _flags(pointer: Any, count: int) -> list[bool]:
    return [bool(value) for value in abi.ints(pointer, count)]


@binding
def MPI_Cart_map(comm: Any, ndims: int, dims: Any, periods: Any) -> int:
    newrank: int = comm.cart_map(abi.ints(dims, ndims), _flags(periods, ndims))
    return newrank


@binding
def MPI_Cart_get(comm: Any, maxdims: int, dims: Any, periods: Any, coords: Any) -> None:
    for pointer, values in zip((dims, periods, coords), comm.cart_get(), strict=True):
        _first(pointer, maxdims, values)


bind("MPI_Cartdim_get", lambda comm: comm.cartdim_get())
bind("MPI_Cart_rank", lambda comm, coords: comm.cart_rank(abi.ints(coords, comm.cartdim_get())))
bind("MPI_Cart_shift", lambda comm, direction, disp: comm.cart_shift(direction, disp))
bind("MPI_Cart_sub", lambda comm, remain_dims: comm.cart_sub(_flags(remain_dims, comm.cartdim_get())))


@binding
def MPI_Cart_coords(comm: Any, rank: int, maxdims: int, coords: Any) -> None:
    _first(coords, maxdims, comm.cart_coords(rank))


# Graphs


def _nodes(pointer: Any, nodes: int, edges: Any) -> tuple[list[int], list[int]]:
    index = abi.ints(pointer, nodes)
    return index, abi.ints(edges, index[-1] if index else 0)


@binding
def MPI_Graph_create(comm_old: Any, nnodes: int, indx: Any, edges: Any, reorder: int) -> Any:
    return comm_old.graph_create(*_nodes(indx, nnodes, edges), bool(reorder))


@binding
def MPI_Graph_map(comm: Any, nnodes: int, indx: Any, edges: Any) -> int:
    newrank: int = comm.graph_map(*_nodes(indx, nnodes, edges))
    return newrank


@binding
def MPI_Graph_get(comm: Any, maxindex: int, maxedges: int, indx: Any, edges: Any) -> None:
    index, ends = comm.graph_get()
    _first(indx, maxindex, index)
    _first(edges, maxedges, ends)


bind("MPI_Graphdims_get", lambda comm: comm.graphdims_get())
bind("MPI_Graph_neighbors_count", lambda comm, rank: len(comm.graph_neighbors(rank, "MPI_Graph_neighbors_count")))


@binding
def MPI_Graph_neighbors(comm: Any, rank: int, maxneighbors: int, neighbors: Any) -> None:
    _first(neighbors, maxneighbors, comm.graph_neighbors(rank))


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
    return comm_old.dist_graph_create(
        abi.ints(sources, n), counts, abi.ints(destinations, edges), _weights(weights, edges), info, bool(reorder)
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
    return comm_old.dist_graph_create_adjacent(
        abi.ints(sources, indegree),
        _weights(sourceweights, indegree),
        abi.ints(destinations, outdegree),
        _weights(destweights, outdegree),
        info,
        bool(reorder),
    )


bind("MPI_Dist_graph_neighbors_count", lambda comm: comm.dist_graph_neighbors_count())


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
    found = comm.dist_graph_neighbors()
    _first(sources, maxindegree, found[0])
    _first(destinations, maxoutdegree, found[2])
    for pointer, room, values in ((sourceweights, maxindegree, found[1]), (destweights, maxoutdegree, found[3])):
        if abi.address(pointer) not in (abi.unweighted, abi.weights_empty):
            _first(pointer, room, values)
