"""The common parts of the functions that make communicators: finding the members, and agreeing on a number."""

import gc
import zlib
from collections.abc import Callable, Generator, Iterable
from typing import NamedTuple

import numpy as np

from ..operation import Operation
from .attributes import Info
from .collectives.allgather import allgather
from .collectives.checks import Part
from .collectives.link import CREATION, Link, next_tag
from .collectives.reduce import allreduce_into
from .collectives.schedule import Steps, launch
from .communicator import LIMIT, Communicator, ContextNumbers
from .constants import IN_PLACE, UNDEFINED
from .datatypes import BYTE, Datatype
from .errors import ErrorClass, MpiError
from .group import Group
from .memory import Scratch, address_of, array_at, zeros
from .op import Op

# Agreement on a context number, which keeps a new communicator's messages apart: all members take
# the same one.
#
# Each process keeps a mask of the numbers it has free (`context_numbers`). The members AND their
# masks, and take a number that is left. Several agreements of a process may be under way at once:
# those of other threads, non-blocking duplicates, and communicators of groups that overlap. None may
# wait for another, because other processes may enter the two in the other order.
#
# So an agreement has two ways. The short way is one round over the first `SHARED` numbers. A process
# offers a few of them to each agreement, the lowest that it has not offered to another one. All
# members that begin several in the same order make the same offers. If no number is common to all
# offers, the long way follows: a round that proposes all free numbers and reserves nothing, and a
# round in which all say whether they could reserve the number chosen. A number that another agreement
# took in between means another try.

SHARED = 2048  # numbers of the short way
OFFER = 32  # of them, at most, are offered to one agreement
_SHARED_MASK = (1 << SHARED) - 1

Agreement = Generator[Iterable[Operation], None, int]
Meeting = Generator[Iterable[Operation], None, int]


def _and(incoming: int, inout: int, count: int, datatype: Datatype) -> None:
    into = array_at(inout, count, np.uint8)
    into &= array_at(incoming, count, np.uint8)


AND = Op(_and, commute=True, name="intersection of free contexts")


class _Across(NamedTuple):
    """The rule by which the masks of two groups meet."""

    leader: int
    bridge: Link | None
    remote: int

    def meet(self, local: Link, mask: Scratch) -> Generator[Iterable[Operation], None, None]:
        bridge, remote, size = self.bridge, self.remote, mask.data.size
        if bridge is None:
            yield [local.receive_bytes(self.leader, mask.address, size)]
            return
        theirs = Scratch(size)
        yield [bridge.receive_bytes(remote, theirs.address, size), bridge.send_bytes(remote, mask.address, size)]
        mask.data &= theirs.data
        yield [local.send_bytes(rank, mask.address, size) for rank in range(local.size) if rank != local.rank]


class _Members(NamedTuple):
    """The processes that agree."""

    link: Link
    across: _Across | None

    def intersect(self, value: int, size: int) -> Meeting:
        """The AND of everyone's `value`, which has `size` bytes."""
        if self.link.size == 1 and self.across is None:
            return value
        mask = Scratch(size)
        mask.data[:] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
        yield from allreduce_into(self.link, mask.address, mask.address, size, BYTE, AND)
        if self.across is not None:
            yield from self.across.meet(self.link, mask)
        return int.from_bytes(mask.data.tobytes(), "little")

    def draw(self, attempt: int) -> int:
        """A number that is the same at all members, and another one for other agreements."""
        name = (0, 0) if self.across is not None else (self.link.context, self.link.tag)
        return zlib.crc32(repr((*name, attempt)).encode())


def agree(link: Link) -> Agreement:
    """A number that is free at all processes of `link`, which must be between the members of one
    group."""
    return _agree(_Members(link, None))


def agree_across(local: Link, leader: int, bridge: Link | None, remote: int) -> Agreement:
    """The same between two groups: each along its `local` link, and each group's `leader`, who
    alone has a `bridge`, with the other's, who is its `remote`."""
    return _agree(_Members(local, _Across(leader, bridge, remote)))


def _agree(members: _Members) -> Agreement:
    numbers = members.link.communicator.process.numbers
    numbers.under_way += 1
    try:
        number = yield from _short(numbers, members)
        if number is None:
            number = yield from _long(numbers, members)
        return number
    finally:
        numbers.under_way -= 1


def _short(numbers: ContextNumbers, members: _Members) -> Generator[Iterable[Operation], None, int | None]:
    offer = _lowest_few(numbers.available() & _SHARED_MASK)
    numbers.offered |= offer
    try:
        common = yield from members.intersect(offer, SHARED // 8)
        if not common:
            return None
        number = _lowest(common)
        numbers.take(number)
        return number
    finally:
        numbers.offered &= ~offer


def _long(numbers: ContextNumbers, members: _Members) -> Agreement:
    attempt = 0
    while True:
        attempt += 1
        number, quiet = yield from _propose(numbers, members, attempt)
        if number is not None and (yield from _reserve(numbers, members, number)):
            return number
        if number is None and quiet:
            raise _none_left(members.link.call)


def take_alone(numbers: ContextNumbers, call: str) -> int:
    """Take a free number for a communicator of this process alone."""
    number = numbers.lowest()
    if number is None:
        gc.collect()  # communicators that were freed may be parts of circles
        number = numbers.lowest()
    if number is None:
        raise _none_left(call)
    numbers.take(number)
    return number


def _none_left(call: str) -> MpiError:
    text = f"{call}: all {LIMIT} context numbers are in use; free communicators that are not needed"
    return MpiError(ErrorClass.OTHER, text)


def _propose(
    numbers: ContextNumbers, members: _Members, attempt: int
) -> Generator[Iterable[Operation], None, tuple[int | None, bool]]:
    """A number that was free everywhere, and whether no member has another agreement under way. Each
    attempt chooses another number, and from the second on one in two offers nothing, so that two
    agreements do not go on to meet."""
    drawn = members.draw(attempt)
    offer = 0
    if attempt == 1 or drawn >> 16 & 1:
        if not numbers.available():
            gc.collect()  # communicators that were freed may be parts of circles
        offer = numbers.available()
    quiet = numbers.under_way == 1 and (attempt == 1 or bool(drawn >> 16 & 1))
    common = yield from members.intersect(offer | quiet << LIMIT, LIMIT // 8 + 1)
    candidates = common & (1 << LIMIT) - 1
    if not candidates:
        return None, bool(common >> LIMIT)
    start = drawn % LIMIT
    later = candidates >> start << start
    return _lowest(later or candidates), False


def _reserve(numbers: ContextNumbers, members: _Members, number: int) -> Generator[Iterable[Operation], None, bool]:
    """Take the number if it is still free everywhere."""
    mine = bool(numbers.available() >> number & 1)
    taken = False
    if mine:
        numbers.take(number)
    try:
        taken = bool((yield from members.intersect(int(mine), 1)))
        return taken
    finally:
        if mine and not taken:
            numbers.release(number)


def _lowest_few(bits: int) -> int:
    """The lowest `OFFER` bits that are set, and no more than a quarter of them."""
    few = min(OFFER, bits.bit_count() // 4)
    first = bits & -bits
    block = (first << few) - first
    if bits & block == block:  # they lie side by side
        return block
    rest = bits
    for _ in range(few):
        rest &= rest - 1
    return bits ^ rest


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


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
