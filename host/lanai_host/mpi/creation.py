"""Making communicators: duplicates, parts, inter-communicators, and giving them back."""

import zlib
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..device import Operation
from .collecting import Collecting
from .collectives.allgather import allgather
from .collectives.barrier import barrier
from .collectives.broadcast import binomial
from .collectives.parts import Part
from .collectives.schedule import CREATION, Link, Steps, next_tag
from .constants import IN_PLACE, SPLIT_BY_NEIGHBORHOOD, UNDEFINED, SplitType
from .errhandler import Errhandler
from .errors import ErrorClass, MpiError
from .group import Group
from .info import Info
from .memory import Scratch
from .request import Request
from .text import encode

if TYPE_CHECKING:
    from .communicator import Communicator
    from .world import World

Found = Generator[Iterable[Operation], None, tuple[Group, Group | None] | None]


class Creating(Collecting):
    """The chapter's methods. A result None is MPI_COMM_NULL."""

    # Duplicates

    def duplicate(self) -> "Communicator":
        """MPI_Comm_dup."""
        return self._duplicate("MPI_Comm_dup", self.info.duplicate())

    def duplicate_with_info(self, info: Info | None) -> "Communicator":
        """MPI_Comm_dup_with_info."""
        return self._duplicate("MPI_Comm_dup_with_info", Info() if info is None else info.duplicate())

    def iduplicate(self) -> "tuple[Communicator, Request]":
        """MPI_Comm_idup: the communicator may be used once the request is done."""
        return self._iduplicate("MPI_Comm_idup", self.info.duplicate())

    def iduplicate_with_info(self, info: Info | None) -> "tuple[Communicator, Request]":
        """MPI_Comm_idup_with_info."""
        return self._iduplicate("MPI_Comm_idup_with_info", Info() if info is None else info.duplicate())

    def _duplicate(self, call: str, info: Info) -> "Communicator":
        made, request = self._iduplicate(call, info, background=False)
        request.wait()
        return made

    def _iduplicate(self, call: str, info: Info, background: bool = True) -> "tuple[Communicator, Request]":
        attributes = self.attributes.copy_to(self)
        made = self._make(self.group, self.remote_group if self.is_inter else None)
        made.attributes = attributes
        made.topology = self.topology
        made.info = info
        link = self._link(call, background)

        def steps() -> Steps:
            number = yield from self.world.contexts.agree(self._everyone(link))
            made.number_agreed(number)

        return made, self.launch(link, steps())

    # Parts

    def split(self, color: int, key: int) -> "Communicator | None":
        """MPI_Comm_split."""
        if color < 0 and color != UNDEFINED:
            raise MpiError(
                ErrorClass.ARG, f"MPI_Comm_split: color is {color}; it must be MPI_UNDEFINED or not negative"
            )
        return self._split("MPI_Comm_split", color, key)

    def _split(self, call: str, color: int, key: int) -> "Communicator | None":
        def find(link: Link) -> Found:
            rows = yield from self._table(link, [color, key])
            if color == UNDEFINED:
                return None
            mine, theirs = (
                sorted((row[1], rank, world) for rank, (row, world) in enumerate(side) if row[0] == color)
                for side in rows
            )
            group = Group((world for _, _, world in mine), self.world.rank)
            if not self.is_inter:
                return group, None
            return (group, Group((world for _, _, world in theirs), self.world.rank)) if theirs else None

        return self._create(call, find)

    def split_type(self, split_type: int, key: int, info: Info | None) -> "Communicator | None":
        """MPI_Comm_split_type. Processes of one simulated node share memory (`--ranks-per-node`). Other hardware has no name
        here, and splitting by it gives MPI_COMM_NULL."""
        known = {UNDEFINED, *SplitType, SPLIT_BY_NEIGHBORHOOD}
        if split_type not in known:
            raise MpiError(
                ErrorClass.ARG, f"MPI_Comm_split_type: split_type is {split_type}, which is no type of split"
            )
        guided = split_type in (SplitType.HW_GUIDED, SplitType.RESOURCE_GUIDED)
        wanted = info.get("mpi_hw_resource_type") if guided and info is not None else None
        shared = split_type == SplitType.SHARED or wanted == "mpi_shared_memory"
        return self._split("MPI_Comm_split_type", self.world.node if shared else UNDEFINED, key)

    def _table(
        self, link: Link, row: list[int]
    ) -> Generator[Iterable[Operation], None, tuple[list[tuple[list[int], int]], list[tuple[list[int], int]]]]:
        """Each member's row of numbers with its world rank: of the own group, and of the remote group."""
        everyone = self._everyone(link)
        width = len(row)
        table = np.zeros((everyone.size, width), np.int64)
        table[everyone.rank] = row
        address = table.__array_interface__["data"][0]
        size, byte = 8 * width, self.world.byte
        yield from allgather.describe(everyone, Part(IN_PLACE, 0, byte), Part(address, size, byte))
        by_world = dict(zip(self._union().members, table.tolist(), strict=True))
        sides = [[(by_world[world], world) for world in group.members] for group in (self.group, self.remote_group)]
        return sides[0], sides[1]

    def create(self, group: Group) -> "Communicator | None":
        """MPI_Comm_create."""
        for world in group.members:
            if self.group.position(world) == UNDEFINED:
                raise MpiError(
                    ErrorClass.GROUP,
                    f"MPI_Comm_create: the group has world rank {world}, which is not in the communicator",
                )
        return self.create_from(group, "MPI_Comm_create")

    def create_from(self, group: Group, call: str) -> "Communicator | None":
        """A communicator of those members of this one that are in `group`, in its order."""

        def find(link: Link) -> Found:
            if not self.is_inter:
                yield []  # nothing to ask: all have given the same group
                return None if group.rank == UNDEFINED else (group, None)
            # The other side learns the order from each member's rank in its group.
            _, theirs = yield from self._table(link, [group.rank])
            remote = sorted((row[0], world) for row, world in theirs if row[0] != UNDEFINED)
            if group.rank == UNDEFINED or not remote:
                return None
            return group, Group((world for _, world in remote), self.world.rank)

        return self._create(call, find)

    def create_group(self, group: Group, tag: int, call: str = "MPI_Comm_create_group") -> "Communicator | None":
        """MPI_Comm_create_group: collective over `group` only."""
        self.check_tag(call, tag)
        if group.rank == UNDEFINED:
            return None
        made = self._make(group, None)
        link = Link(self, call, tag, self.creation_context, group)

        def steps() -> Steps:
            made.number_agreed((yield from self.world.contexts.agree(link)))

        self.launch(link, steps()).wait()
        return made

    # Two groups

    def create_intercomm(
        self,
        local_leader: int,
        peer: "Communicator | None",
        remote_leader: int,
        tag: int,
        call: str = "MPI_Intercomm_create",
    ) -> "Communicator":
        """MPI_Intercomm_create. `peer` and `remote_leader` count at the local leader only."""
        self.check_tag(call, tag)
        if self.is_inter:
            raise MpiError(ErrorClass.COMM, f"{call}: local_comm is an inter-communicator")
        if not 0 <= local_leader < self.size:
            raise MpiError(
                ErrorClass.RANK, f"{call}: local_leader is {local_leader}; it must be from 0 to {self.size - 1}"
            )
        leading = self.rank == local_leader
        if leading and (peer is None or not 0 <= remote_leader < peer.remote_size):
            raise MpiError(ErrorClass.RANK, f"{call}: remote_leader is {remote_leader}, which is no rank of peer_comm")
        link = self._link(call)
        bridge = link.through(peer, tag) if leading and peer is not None else None
        found: list[Communicator] = []

        def steps() -> Steps:
            members = yield from self._meet(link, local_leader, bridge, remote_leader)
            remote = Group(members, self.world.rank)
            if set(members) & set(self.group.members):
                raise MpiError(ErrorClass.COMM, f"{call}: the two groups have a process in common")
            made = self._make(self.group, remote)
            contexts = self.world.contexts
            number = yield from contexts.agree_across(link, local_leader, bridge, remote_leader)
            made.number_agreed(number)
            found.append(made)

        self.launch(link, steps()).wait()
        return found[0]

    def _meet(
        self, link: Link, leader: int, bridge: Link | None, remote: int
    ) -> Generator[Iterable[Operation], None, list[int]]:
        """The remote group's world ranks: leaders exchange size and members, and tell their groups."""
        sizes = np.array([self.size, 0], np.int64)
        address = sizes.__array_interface__["data"][0]
        if bridge is not None:
            yield [bridge.receive_bytes(remote, address + 8, 8), bridge.send_bytes(remote, address, 8)]
        yield from binomial(link, [(address + 8, 8)], leader)
        theirs = Scratch(8 * int(sizes[1]))
        if bridge is not None:
            ours = np.array(self.group.members, np.int64)
            yield [
                bridge.receive_bytes(remote, theirs.address, theirs.data.size),
                bridge.send_bytes(remote, ours.__array_interface__["data"][0], ours.nbytes),
            ]
        yield from binomial(link, [(theirs.address, theirs.data.size)], leader)
        return [int(world) for world in theirs.data.view(np.int64)]

    def merge(self, high: bool) -> "Communicator":
        """MPI_Intercomm_merge."""
        if not self.is_inter:
            raise MpiError(ErrorClass.COMM, "MPI_Intercomm_merge: the communicator is not an inter-communicator")

        def find(link: Link) -> Found:
            ours, theirs = yield from self._table(link, [int(high)])
            if len({row[0] for row, _ in ours}) > 1:
                raise MpiError(ErrorClass.ARG, "MPI_Intercomm_merge: high is not the same in the whole group")
            first_world = self._union().members[0]
            we_are_first = self.group.position(first_world) != UNDEFINED
            if high != bool(theirs[0][0][0]):
                we_are_first = not high
            groups = (self.group, self.remote_group) if we_are_first else (self.remote_group, self.group)
            return Group((*groups[0].members, *groups[1].members), self.world.rank), None

        made = self._create("MPI_Intercomm_merge", find)
        assert made is not None
        return made

    # End

    def free(self) -> None:
        """MPI_Comm_free: what is under way ends in its time, and keeps the context number until then."""
        if self is self.world.comm_world or self is self.world.comm_self:
            raise MpiError(ErrorClass.COMM, f"MPI_Comm_free: {self.name} cannot be freed")
        self.attributes.clear(self)
        self.freed = True

    def disconnect(self) -> None:
        """MPI_Comm_disconnect: as `free`, after all members have come here."""
        if self is self.world.comm_world or self is self.world.comm_self:
            raise MpiError(ErrorClass.COMM, f"MPI_Comm_disconnect: {self.name} cannot be freed")
        self.run(barrier)
        self.free()

    # Common

    def _link(self, call: str, background: bool = False) -> Link:
        return Link(self, call, next_tag(self, CREATION, background))

    def _union(self) -> Group:
        """All processes, in an order that both sides of an inter-communicator know."""
        if not self.is_inter:
            return self.group
        sides = sorted((self.group.members, self.remote_group.members), key=min)
        return Group((*sides[0], *sides[1]), self.world.rank)

    def _everyone(self, link: Link) -> Link:
        return link.among(self._union()) if self.is_inter else link

    def _create(self, call: str, find: Callable[[Link], Found]) -> "Communicator | None":
        """All members learn by `find(link)` who is with them, and agree on one number for all the new communicators, which
        have no process in common."""
        link = self._link(call)
        found: list[Communicator] = []

        def steps() -> Steps:
            groups = yield from find(link)
            number = yield from self.world.contexts.agree(self._everyone(link))
            if groups is None:
                self.world.contexts.release(number)
                return
            made = self._make(*groups)
            made.number_agreed(number)
            found.append(made)

        self.launch(link, steps()).wait()
        return found[0] if found else None

    def _make(self, group: Group, remote: Group | None) -> "Communicator":
        made = self.world.new_communicator(group, remote)
        made.errhandler = self.errhandler
        return made


def create_from_group(
    world: "World", group: Group, stringtag: str, info: Info | None, errhandler: Errhandler
) -> "Communicator":
    """MPI_Comm_create_from_group. Calls at the same time are told apart by their `stringtag`."""
    call = "MPI_Comm_create_from_group"
    if group.rank == UNDEFINED:
        raise MpiError(ErrorClass.GROUP, f"{call}: this process is not in the group")
    made = world.comm_world.create_group(group, _numeric(world, stringtag), call)
    assert made is not None
    made.errhandler = errhandler
    made.info = Info() if info is None else info.duplicate()
    return made


def create_intercomm_from_groups(
    world: "World",
    local_group: Group,
    local_leader: int,
    remote_group: Group | None,
    remote_leader: int,
    stringtag: str,
    info: Info | None,
    errhandler: Errhandler,
) -> "Communicator":
    """MPI_Intercomm_create_from_groups. The remote group and its leader count at the local leader only."""
    call = "MPI_Intercomm_create_from_groups"
    local = create_from_group(world, local_group, stringtag, info, errhandler)
    remote = 0
    if local.rank == local_leader:
        if remote_group is None or not 0 <= remote_leader < remote_group.size:
            raise MpiError(
                ErrorClass.RANK,
                f"{call}: remote_leader is {remote_leader}, which is no rank of remote_group",
            )
        remote = remote_group.members[remote_leader]
    made = local.create_intercomm(local_leader, world.comm_world, remote, _numeric(world, stringtag), call)
    made.info = Info() if info is None else info.duplicate()
    local.free()
    return made


def _numeric(world: "World", stringtag: str) -> int:
    """The tag that stands for a string."""
    return zlib.crc32(encode(stringtag)) % world.tag_ub
