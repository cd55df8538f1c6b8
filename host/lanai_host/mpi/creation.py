"""Making communicators of one group: duplicates, parts, and giving them back."""

import zlib

from .added_codes import encode
from .arguments import check_tag
from .attributes import Errhandler, Info
from .collectives.broadcast import barrier
from .collectives.link import CREATION, Link, next_tag
from .collectives.schedule import Steps, launch, run
from .communicator import CALL, Communicator, hints, set_errhandler
from .constants import SPLIT_BY_NEIGHBORHOOD, UNDEFINED, SplitType
from .errors import ErrorClass, MpiError
from .group import Group
from .making import agree, create_from, creation_link, everyone, make, split_as, take_alone
from .request import Request

# Duplicates


def duplicate(comm: Communicator) -> Communicator:
    """MPI_Comm_dup."""
    return _duplicate(comm, "MPI_Comm_dup", comm.info.duplicate())


def duplicate_with_info(comm: Communicator, info: Info | None) -> Communicator:
    """MPI_Comm_dup_with_info."""
    return _duplicate(comm, "MPI_Comm_dup_with_info", hints(info))


def iduplicate(comm: Communicator) -> tuple[Communicator, Request]:
    """MPI_Comm_idup: the communicator may be used once the request is done."""
    return _iduplicate(comm, "MPI_Comm_idup", comm.info.duplicate())


def iduplicate_with_info(comm: Communicator, info: Info | None) -> tuple[Communicator, Request]:
    """MPI_Comm_idup_with_info."""
    return _iduplicate(comm, "MPI_Comm_idup_with_info", hints(info))


def _duplicate(comm: Communicator, call: str, info: Info) -> Communicator:
    if comm.size > 1 or comm.is_inter:
        made, request = _iduplicate(comm, call, info, background=False)
        request.wait()
        return made
    made = _copy(comm, info)
    next_tag(comm, CREATION, background=False)
    with comm.lock:
        comm.device.charge(CALL)
        made.number_agreed(take_alone(comm.process.numbers, call), call)
    return made


def _copy(comm: Communicator, info: Info) -> Communicator:
    """A duplicate that still needs its context number."""
    attributes = comm.attributes.copy_to(comm)
    made = make(comm, comm.group, comm.remote_group if comm.is_inter else None, info)
    made.attributes = attributes
    made.topology = comm.topology
    return made


def _iduplicate(comm: Communicator, call: str, info: Info, background: bool = True) -> tuple[Communicator, Request]:
    made = _copy(comm, info)
    link = creation_link(comm, call, background)

    def steps() -> Steps:
        number = yield from agree(everyone(comm, link))
        made.number_agreed(number, link.call)

    return made, launch(link, steps())


def private_copy(comm: Communicator, call: str) -> Communicator:
    """A communicator of the same processes for the library's own use, which the program never
    sees."""
    made = Communicator(comm.process, 0, comm.group)
    link = creation_link(comm, call)

    def steps() -> Steps:
        made.number_agreed((yield from agree(link)), link.call)

    launch(link, steps()).wait()
    return made


# Parts. A result None is MPI_COMM_NULL.


def split(comm: Communicator, color: int, key: int) -> Communicator | None:
    """MPI_Comm_split."""
    if color < 0 and color != UNDEFINED:
        raise MpiError(ErrorClass.ARG, f"MPI_Comm_split: color is {color}; it must be MPI_UNDEFINED or not negative")
    return split_as(comm, "MPI_Comm_split", color, key)


def split_type(comm: Communicator, kind: int, key: int, info: Info | None) -> Communicator | None:
    """MPI_Comm_split_type. Processes of one simulated node share memory (`--ranks-per-node`). Other
    hardware has no name here, and splitting by it gives MPI_COMM_NULL."""
    known = {UNDEFINED, *SplitType, SPLIT_BY_NEIGHBORHOOD}
    if kind not in known:
        raise MpiError(ErrorClass.ARG, f"MPI_Comm_split_type: split_type is {kind}, which is not a type of split")
    guided = kind in (SplitType.HW_GUIDED, SplitType.RESOURCE_GUIDED)
    wanted = info.get("mpi_hw_resource_type") if guided and info is not None else None
    shared = kind == SplitType.SHARED or wanted == "mpi_shared_memory"
    return split_as(comm, "MPI_Comm_split_type", comm.process.node if shared else UNDEFINED, key)


def create(comm: Communicator, group: Group) -> Communicator | None:
    """MPI_Comm_create."""
    for world in group.members:
        if comm.group.position(world) == UNDEFINED:
            raise MpiError(
                ErrorClass.GROUP,
                f"MPI_Comm_create: the group has world rank {world}, which is not in the communicator",
            )
    return create_from(comm, group, "MPI_Comm_create")


def create_group(
    comm: Communicator, group: Group, tag: int, call: str = "MPI_Comm_create_group"
) -> Communicator | None:
    """MPI_Comm_create_group: collective over `group` only."""
    if comm.is_inter:
        raise MpiError(ErrorClass.COMM, f"{call}: comm is an inter-communicator")
    check_tag(comm, call, tag)
    if group.rank == UNDEFINED:
        return None
    made = make(comm, group, None)
    link = Link(comm, call, tag, comm.creation_context, group)

    def steps() -> Steps:
        made.number_agreed((yield from agree(link)), link.call)

    launch(link, steps()).wait()
    return made


def create_from_group(
    everybody: Communicator, group: Group, stringtag: str, info: Info | None, errhandler: Errhandler
) -> Communicator | None:
    """MPI_Comm_create_from_group. None for an empty group. Calls at the same time are told apart by
    their `stringtag`. `everybody` is MPI_COMM_WORLD, whose contexts the agreement uses."""
    call = "MPI_Comm_create_from_group"
    if not group.size:
        return None
    if group.rank == UNDEFINED:
        raise MpiError(ErrorClass.GROUP, f"{call}: this process is not in the group")
    made = create_group(everybody, group, tag_of(everybody, stringtag), call)
    assert made is not None
    set_errhandler(made, errhandler)
    made.session = group.session
    made.info = hints(info)
    return made


def tag_of(comm: Communicator, stringtag: str) -> int:
    """The tag that stands for a string."""
    return zlib.crc32(encode(stringtag)) % comm.tag_ub


# End


def free(comm: Communicator) -> None:
    """MPI_Comm_free: what is under way ends in its time, and keeps the context number until
    then."""
    call = "MPI_Comm_free"
    if comm.predefined:
        raise MpiError(ErrorClass.COMM, f"{call}: {comm.name} cannot be freed")
    if unmatched := comm.device.unmatched(comm.context):
        raise MpiError(ErrorClass.OTHER, f"{call}: messages on {comm.label} were not received: {unmatched}")
    _release(comm)


def _release(comm: Communicator) -> None:
    comm.attributes.clear(comm)
    comm.freed = True
    if comm in comm.process.connections:
        comm.process.connections.remove(comm)


def disconnect(comm: Communicator) -> None:
    """MPI_Comm_disconnect: as `free`, after all members have come here."""
    if comm.predefined:
        raise MpiError(ErrorClass.COMM, f"MPI_Comm_disconnect: {comm.name} cannot be freed")
    run(comm, barrier)
    _release(comm)
