"""Communicators, groups, their names and hints; error handlers."""

from collections.abc import Sequence
from typing import Any

from ...mpi import communicator, creation, grids, intercomm
from ...mpi import grids as graphs
from ...mpi.attributes import Errhandler, Info
from ...mpi.constants import UNDEFINED, TopologyKind
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.topology import dims_create, topology_test
from .. import callbacks
from ..binding import always, bind, binding
from ..context import abi

# Communicators

bind("MPI_Comm_rank", lambda comm: comm.rank)
bind("MPI_Comm_size", lambda comm: comm.size)
bind("MPI_Comm_remote_size", lambda comm: _inter("MPI_Comm_remote_size", comm).remote_size)
bind("MPI_Comm_test_inter", lambda comm: comm.is_inter)
bind("MPI_Comm_compare", communicator.compare, "comm1 comm2")
bind("MPI_Comm_group", lambda comm: comm.group)
bind("MPI_Comm_remote_group", lambda comm: _inter("MPI_Comm_remote_group", comm).remote_group)
bind("MPI_Comm_dup", creation.duplicate, "comm")
bind("MPI_Comm_dup_with_info", creation.duplicate_with_info, "comm info")
bind("MPI_Comm_idup", creation.iduplicate, "comm")
bind("MPI_Comm_idup_with_info", creation.iduplicate_with_info, "comm info")
bind("MPI_Comm_create", creation.create, "comm group")
bind("MPI_Comm_create_group", creation.create_group, "comm group tag")
bind("MPI_Comm_split", creation.split, "comm color key")
bind("MPI_Comm_split_type", creation.split_type, "comm split_type key info")
bind("MPI_Comm_get_name", lambda comm: "MPI_COMM_NULL" if comm is None else comm.name)
bind("MPI_Comm_set_name", communicator.set_name, "comm comm_name")
bind("MPI_Comm_get_info", lambda comm: comm.info.duplicate())
bind("MPI_Intercomm_merge", lambda comm, high: intercomm.merge(comm, bool(high)), "intercomm high")


def _inter(call: str, comm: Any) -> Any:
    if not comm.is_inter:
        raise MpiError(ErrorClass.COMM, f"{call}: the communicator is not an inter-communicator")
    return comm


@binding
def MPI_Comm_set_info(comm: Any, info: Info | None) -> None:
    if info is None:
        raise MpiError(ErrorClass.INFO, "MPI_Comm_set_info: info is MPI_INFO_NULL")
    communicator.set_info(comm, info)


@binding
def MPI_Comm_free(comm: Any) -> None:
    creation.free(abi.comms[comm[0]])
    abi.comms.remove(comm[0])
    comm[0] = abi.comms.null


@binding
def MPI_Comm_disconnect(comm: Any) -> None:
    creation.disconnect(abi.comms[comm[0]])
    abi.comms.remove(comm[0])
    comm[0] = abi.comms.null


# `peer_comm` is significant at the leader only; inputs that are handles are looked up, so it comes
# as its number.
def _intercomm_create(local_comm: Any, local_leader: int, peer_comm: int, remote_leader: int, tag: int) -> Any:
    return intercomm.create_intercomm(local_comm, local_leader, abi.comms.get(peer_comm), remote_leader, tag)


bind("MPI_Intercomm_create", _intercomm_create, lenient=True, raw="peer_comm")


@binding
def MPI_Comm_create_from_group(group: Any, stringtag: str, info: Info | None, errhandler: Errhandler) -> Any:
    return creation.create_from_group(abi.world.comm_world, group, stringtag, info, errhandler)


@binding
def MPI_Intercomm_create_from_groups(
    local_group: Any,
    local_leader: int,
    remote_group: Any,
    remote_leader: int,
    stringtag: str,
    info: Info | None,
    errhandler: Errhandler,
) -> Any:
    return intercomm.create_intercomm_from_groups(
        abi.world.comm_world, local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler
    )


# Groups

bind("MPI_Group_rank", lambda group: group.rank)
bind("MPI_Group_size", lambda group: group.size)
bind("MPI_Group_compare", lambda group1, group2: group1.compare(group2))
bind("MPI_Group_union", lambda group1, group2: group1.union(group2))
bind("MPI_Group_intersection", lambda group1, group2: group1.intersection(group2))
bind("MPI_Group_difference", lambda group1, group2: group1.difference(group2))
bind("MPI_Group_incl", lambda group, n, ranks: group.include(_ranks("MPI_Group_incl", group, n, ranks)))
bind("MPI_Group_excl", lambda group, n, ranks: group.exclude(_ranks("MPI_Group_excl", group, n, ranks)))
bind("MPI_Group_range_incl", lambda group, n, ranges: group.include_ranges(_triples(ranges, n)))
bind("MPI_Group_range_excl", lambda group, n, ranges: group.exclude_ranges(_triples(ranges, n)))


def _ranks(call: str, group: Any, n: int, ranks: Any) -> list[int]:
    """Ranks that are all different: more than the group has cannot be."""
    if n > group.size:
        raise MpiError(ErrorClass.RANK, f"{call}: n is {n}, but the group has {group.size} processes")
    return abi.ints(ranks, n)


def _triples(pointer: Any, count: int) -> list[tuple[int, int, int]]:
    flat = abi.ints(pointer, 3 * count)
    return [(flat[index], flat[index + 1], flat[index + 2]) for index in range(0, len(flat), 3)]


@binding
def MPI_Group_translate_ranks(group1: Any, n: int, ranks1: Any, group2: Any, ranks2: Any) -> None:
    ranks = abi.ints(ranks1, n)
    if abi.numbers:
        ranks = [abi.numbers.ranks.inward(rank) for rank in ranks]
    translated = group1.translate(ranks, group2)
    abi.put_ints(ranks2, map(abi.numbers.ranks.outward, translated) if abi.numbers else translated)


@binding
def MPI_Group_free(group: Any) -> None:
    abi.groups[group[0]]
    if group[0] != abi.constants["MPI_GROUP_EMPTY"]:
        abi.groups.remove(group[0])
    group[0] = abi.groups.null


# Error handlers


for _name in ("MPI_Comm_create_errhandler", "MPI_Errhandler_create"):
    bind(_name, lambda comm_errhandler_fn: callbacks.errhandler(comm_errhandler_fn, abi.comms))
for _name in ("MPI_Comm_set_errhandler", "MPI_Errhandler_set"):
    bind(_name, communicator.set_errhandler, "comm errhandler")
for _name in ("MPI_Comm_get_errhandler", "MPI_Errhandler_get"):
    bind(_name, lambda comm: comm.errhandler)


@always
def MPI_Errhandler_free(errhandler: Any) -> None:
    handle = errhandler[0]
    if not abi.errhandlers.is_predefined(abi.errhandlers[handle]):
        abi.errhandlers.remove(handle)
    errhandler[0] = abi.errhandlers.null


@binding
def MPI_Comm_call_errhandler(comm: Any, errorcode: int) -> None:
    abi.world.report(callbacks.with_code(errorcode), comm)


# Process topologies.


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
