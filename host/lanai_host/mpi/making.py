"""The common parts of the functions that make communicators: finding the members, and agreeing on a number."""

from collections.abc import Callable, Generator, Iterable

import numpy as np

from ..operation import Operation
from .agreement import agree
from .collectives.allgather import allgather
from .collectives.calls import launch
from .collectives.link import Link
from .collectives.parts import Part
from .collectives.schedule import Steps
from .collectives.tags import CREATION, next_tag
from .communicator import Communicator
from .constants import IN_PLACE, UNDEFINED
from .datatypes import BYTE
from .group import Group
from .info import Info
from .memory import address_of, zeros

Found = Generator[Iterable[Operation], None, tuple[Group, Group | None] | None]
Rows = list[tuple[list[int], int]]  # each member's numbers, with its world rank


def make(comm: Communicator, group: Group, remote: Group | None, info: Info | None = None) -> Communicator:
    """A communicator that still needs its context number, and inherits the error handler of
    `comm`."""
    made = Communicator(comm.process, 0, group, remote, info=info)
    made.errhandler = comm.errhandler
    made.session = comm.session
    comm.process.communicators.add(made)
    return made


def creation_link(comm: Communicator, call: str, background: bool = False) -> Link:
    """The way to the other members for the next creation on `comm`."""
    return Link(comm, call, next_tag(comm, CREATION, background))


def union(comm: Communicator) -> Group:
    """All processes, in an order that both sides of an inter-communicator know."""
    if not comm.is_inter:
        return comm.group
    sides = sorted((comm.group.members, comm.remote_group.members), key=min)
    return Group((*sides[0], *sides[1]), comm.process.rank)


def everyone(comm: Communicator, link: Link) -> Link:
    """The same call among all processes of both groups."""
    return link.among(union(comm)) if comm.is_inter else link


def exchange_rows(
    comm: Communicator, link: Link, row: list[int]
) -> Generator[Iterable[Operation], None, tuple[Rows, Rows]]:
    """Each member's row of numbers with its world rank: of the own group, and of the remote
    group."""
    members = everyone(comm, link)
    table = zeros((members.size, len(row)), np.int64)
    table[members.rank] = row
    address = address_of(table)
    yield from allgather.describe(members, Part(IN_PLACE, 0, BYTE), Part(address, 8 * len(row), BYTE))
    by_world = dict(zip(union(comm).members, table.tolist(), strict=True))
    sides = [[(by_world[world], world) for world in group.members] for group in (comm.group, comm.remote_group)]
    return sides[0], sides[1]


def create_where(comm: Communicator, call: str, find: Callable[[Link], Found]) -> Communicator | None:
    """All members learn by `find(link)` who is with them, and agree on one number for all the new
    communicators, which have no process in common."""
    link = creation_link(comm, call)
    found: list[Communicator] = []

    def steps() -> Steps:
        groups = yield from find(link)
        number = yield from agree(everyone(comm, link))
        if groups is None:
            comm.process.numbers.release(number)
            return
        made = make(comm, *groups)
        made.number_agreed(number, link.call)
        found.append(made)

    launch(link, steps()).wait()
    return found[0] if found else None


def create_from(comm: Communicator, group: Group, call: str) -> Communicator | None:
    """A communicator of those members of this one that are in `group`, in its order."""

    def find(link: Link) -> Found:
        if not comm.is_inter:
            yield []  # nothing to ask: all have given the same group
            return None if group.rank == UNDEFINED else (group, None)
        # The other side learns the order from each member's rank in its group.
        _, theirs = yield from exchange_rows(comm, link, [group.rank])
        remote = sorted((row[0], world) for row, world in theirs if row[0] != UNDEFINED)
        if group.rank == UNDEFINED or not remote:
            return None
        return group, Group((world for _, world in remote), comm.process.rank)

    return create_where(comm, call, find)


def split_as(comm: Communicator, call: str, color: int, key: int) -> Communicator | None:
    """A communicator of those that gave the same color, ordered by key; None for those that gave
    UNDEFINED."""

    def find(link: Link) -> Found:
        rows = yield from exchange_rows(comm, link, [color, key])
        if color == UNDEFINED:
            return None
        mine, theirs = (
            sorted((row[1], rank, world) for rank, (row, world) in enumerate(side) if row[0] == color) for side in rows
        )
        group = Group((world for _, _, world in mine), comm.process.rank)
        if not comm.is_inter:
            return group, None
        return (group, Group((world for _, _, world in theirs), comm.process.rank)) if theirs else None

    return create_where(comm, call, find)
