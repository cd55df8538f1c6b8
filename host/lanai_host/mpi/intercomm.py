"""Inter-communicators: made of two groups, or merged into one."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..body import Run
from ..operation import Operation
from ..process_manager import Manager, Question, Refused
from .arguments import check_intra, check_tag
from .attributes import Errhandler, Info
from .collectives.broadcast import binomial
from .collectives.link import Link
from .collectives.schedule import Steps, launch
from .communicator import PORTS, Communicator, hints
from .constants import UNDEFINED
from .creation import create_from_group, free, tag_of
from .errors import ErrorClass, MpiError
from .group import Group
from .making import Found, agree_across, create_where, creation_link, exchange_rows, make, union
from .memory import Scratch, address_of, array, zeros


def create_intercomm(
    comm: Communicator,
    local_leader: int,
    peer: Communicator | None,
    remote_leader: int,
    tag: int,
    call: str = "MPI_Intercomm_create",
) -> Communicator:
    """MPI_Intercomm_create. `peer` and `remote_leader` count at the local leader only."""
    check_tag(comm, call, tag)
    if comm.is_inter:
        raise MpiError(ErrorClass.COMM, f"{call}: local_comm is an inter-communicator")
    if not 0 <= local_leader < comm.size:
        raise MpiError(ErrorClass.RANK, f"{call}: local_leader is {local_leader}; it must be from 0 to {comm.size - 1}")
    leading = comm.rank == local_leader
    if leading and peer is None:
        raise MpiError(
            ErrorClass.COMM, f"{call}: peer_comm is not a communicator, and this process is the local leader"
        )
    if leading and peer is not None and not 0 <= remote_leader < peer.remote_size:
        raise MpiError(ErrorClass.RANK, f"{call}: remote_leader is {remote_leader}, which is not a rank of peer_comm")
    link = creation_link(comm, call)
    bridge = link.through(peer, tag) if leading and peer is not None else None
    found: list[Communicator] = []

    def steps() -> Steps:
        found.append((yield from join_groups(comm, link, local_leader, bridge, remote_leader)))

    launch(link, steps()).wait()
    return found[0]


def join_groups(
    comm: Communicator, link: Link, leader: int, bridge: Link | None, remote: int
) -> Generator[Iterable[Operation], None, Communicator]:
    """The inter-communicator of two groups, of which each has one process, its `leader`, with a
    `bridge` to the other's, who is its rank `remote`."""
    members = yield from _meet(comm, link, leader, bridge, remote)
    if set(members) & set(comm.group.members):
        raise MpiError(ErrorClass.COMM, f"{link.call}: the two groups have a process in common")
    made = make(comm, comm.group, Group(members, comm.process.rank))
    made.number_agreed((yield from agree_across(link, leader, bridge, remote)), link.call)
    return made


def _meet(
    comm: Communicator, link: Link, leader: int, bridge: Link | None, remote: int
) -> Generator[Iterable[Operation], None, list[int]]:
    """The remote group's world ranks: leaders exchange size and members, and tell their groups."""
    sizes = array([comm.size, 0], np.int64)
    address = address_of(sizes)
    if bridge is not None:
        yield [bridge.receive_bytes(remote, address + 8, 8), bridge.send_bytes(remote, address, 8)]
    yield from binomial(link, Run(address + 8, 8), leader)
    theirs = Scratch(8 * int(sizes[1]))
    if bridge is not None:
        ours = array(comm.group.members, np.int64)
        yield [
            bridge.receive_bytes(remote, theirs.address, theirs.data.size),
            bridge.send_bytes(remote, address_of(ours), ours.nbytes),
        ]
    yield from binomial(link, Run(theirs.address, theirs.data.size), leader)
    return [int(world) for world in theirs.data.view(np.int64)]


def merge(comm: Communicator, high: bool) -> Communicator:
    """MPI_Intercomm_merge."""
    if not comm.is_inter:
        raise MpiError(ErrorClass.COMM, "MPI_Intercomm_merge: the communicator is not an inter-communicator")

    def find(link: Link) -> Found:
        ours, theirs = yield from exchange_rows(comm, link, [int(high)])
        if len({row[0] for row, _ in ours}) > 1:
            raise MpiError(ErrorClass.ARG, "MPI_Intercomm_merge: high is not the same in the whole group")
        first_world = union(comm).members[0]
        we_are_first = comm.group.position(first_world) != UNDEFINED
        if high != bool(theirs[0][0][0]):
            we_are_first = not high
        groups = (comm.group, comm.remote_group) if we_are_first else (comm.remote_group, comm.group)
        return Group((*groups[0].members, *groups[1].members), comm.process.rank), None

    made = create_where(comm, "MPI_Intercomm_merge", find)
    assert made is not None
    return made


def create_intercomm_from_groups(
    everybody: Communicator,
    local_group: Group,
    local_leader: int,
    remote_group: Group | None,
    remote_leader: int,
    stringtag: str,
    info: Info | None,
    errhandler: Errhandler,
) -> Communicator | None:
    """MPI_Intercomm_create_from_groups. None if the local group is empty. The remote group and its
    leader count at the local leader only. `everybody` is MPI_COMM_WORLD, whose contexts the agreement
    uses."""
    call = "MPI_Intercomm_create_from_groups"
    local = create_from_group(everybody, local_group, stringtag, info, errhandler)
    if local is None:
        return None
    remote = 0
    if local.rank == local_leader:
        if remote_group is None or not 0 <= remote_leader < remote_group.size:
            raise MpiError(
                ErrorClass.RANK,
                f"{call}: remote_leader is {remote_leader}, which is not a rank of remote_group",
            )
        remote = remote_group.members[remote_leader]
    made = create_intercomm(local, local_leader, everybody, remote, tag_of(everybody, stringtag), call)
    made.info = hints(info)
    free(local)
    return made


# Two groups of processes that share no communicator become connected: the root of each finds the other's leader, and
# the leaders build an inter-communicator through the run, in which all processes know each other by rank.


class Other(NamedTuple):
    """The other side, as a root has found it. `codes` are for the program, at all processes of the root's group."""

    leader: int  # a rank in the run
    tag: int  # of what the leaders tell each other
    codes: Sequence[int] = ()


class Connected(NamedTuple):
    """The result of a connection at each process of a group."""

    communicator: Communicator
    codes: Sequence[int]


class NotConnected(MpiError):
    """The root's failure, at all processes of its group, with codes for the program."""

    def __init__(self, error: MpiError, codes: Sequence[int]) -> None:
        super().__init__(error.error_class, error.text)
        self.codes = codes


Finding = Generator[Iterable[Operation], None, Other]
_FAILED = -1  # instead of a leader


def at_once(other: Other) -> Finding:
    """Nothing is left to find out."""
    yield []
    return other


def ask(manager: Manager, everyone: Communicator, call: str, question: Question, *values: Any) -> Any:
    """Ask the process manager. Its refusal is an MPI error."""
    try:
        with everyone.lock:
            return manager.ask(call, question, *values)
    except Refused as refused:
        raise MpiError(ErrorClass[refused.kind], f"{call}: {refused}") from None


def connect_groups(
    comm: Communicator, everyone: Communicator, call: str, root: int, begin: Callable[[Link], Finding]
) -> Connected:
    """The inter-communicator of this group and another. `begin(link)` is called at the root, and
    its steps find the other group. An error of the root's is an error of all. `everyone` has all
    processes of the run."""
    check_intra(comm, call)
    if not 0 <= root < comm.size:
        raise MpiError(ErrorClass.ROOT, f"{call}: root is {root}; it must be from 0 to {comm.size - 1}")
    link = creation_link(comm, call)
    finding, failure = None, None
    if comm.rank == root:
        try:
            finding = begin(link)
        except MpiError as error:
            failure = error
    found: list[Connected] = []

    def steps() -> Steps:
        other = yield from _spread(link, root, finding, failure)
        bridge = link.through(everyone, other.tag, PORTS) if comm.rank == root else None
        made = yield from join_groups(comm, link, root, bridge, other.leader)
        comm.process.connections.append(made)
        found.append(Connected(made, other.codes))

    launch(link, steps()).wait()
    return found[0]


def _spread(
    link: Link, root: int, finding: Finding | None, failure: MpiError | None
) -> Generator[Iterable[Operation], None, Other]:
    """Broadcast the root's finding, or its failure, and return the finding at all members."""
    other = Other(_FAILED, 0)
    if finding is not None:
        try:
            other = yield from finding
        except MpiError as error:
            failure = error
    codes = other.codes if failure is None else getattr(failure, "codes", ())
    head = array([other.leader, other.tag, len(codes), 0 if failure is None else failure.error_class], np.int64)
    yield from binomial(link, Run(address_of(head), head.nbytes), root)
    leader, tag, count, error_class = map(int, head)
    body = zeros(count, np.int32)
    if link.rank == root:
        body[:] = codes
    if count:
        yield from binomial(link, Run(address_of(body), body.nbytes), root)
    if error_class:
        text = f"{link.call}: the root, rank {root}, could not be connected"
        raise NotConnected(failure or MpiError(error_class, text), body.tolist())
    return Other(leader, tag, body.tolist())
