"""Communicators, groups, their names and hints; error handlers."""

from typing import Any

from ...mpi import communicator, creation, intercomm
from ...mpi.attributes import Errhandler, Info
from ...mpi.errors import ErrorClass, MpiError
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
