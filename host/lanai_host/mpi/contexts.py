"""Context numbers: what keeps communicators apart, agreed on by all members of a new one.

Each process keeps a mask of the numbers it has free. The members AND their masks, and take a number that is left. Several
agreements of a process may be under way at once: those of other threads, non-blocking duplicates, and communicators of
groups that overlap. None may wait for another, because other processes may enter the two in the other order.

So an agreement has two ways. The short way is one round over the first `SHARED` numbers. A process offers a few of them to
one agreement at a time, so that most are left for the others. If no number is common to all offers, the long way follows: a
round that proposes all free numbers and reserves nothing, and a round in which all say whether they could reserve the number
chosen. A number that another agreement took in between means another try.
"""

import gc
import zlib
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..device import MAX_CONTEXT, Operation
from .base import CONTEXTS
from .collectives.reduce import allreduce_into
from .collectives.schedule import Link
from .errors import ErrorClass, MpiError
from .memory import Scratch, array_at
from .op import Op

if TYPE_CHECKING:
    from .datatypes import Datatype

LIMIT = (MAX_CONTEXT + 1) // CONTEXTS  # numbers
SHARED = 2048  # numbers of the short way
OFFER = 32  # of them, at most, are offered to one agreement
_SHARED_MASK = (1 << SHARED) - 1

Agreement = Generator[Iterable[Operation], None, int]
Meeting = Generator[Iterable[Operation], None, int]


def _and(incoming: int, inout: int, count: int, datatype: "Datatype") -> None:
    into = array_at(inout, count, np.uint8)
    into &= array_at(incoming, count, np.uint8)


AND = Op(_and, commute=True, name="intersection of free contexts")


class _Across(NamedTuple):
    """How the masks of two groups meet."""

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
    byte: "Datatype"

    def intersect(self, value: int, size: int) -> Meeting:
        """The AND of everyone's `value`, which has `size` bytes."""
        mask = Scratch(size)
        mask.data[:] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
        yield from allreduce_into(self.link, mask.address, mask.address, size, self.byte, AND)
        if self.across is not None:
            yield from self.across.meet(self.link, mask)
        return int.from_bytes(mask.data.tobytes(), "little")

    def draw(self, attempt: int) -> int:
        """A number that is the same at all members, and another one for other agreements."""
        name = (0, 0) if self.across is not None else (self.link.context, self.link.tag)
        return zlib.crc32(repr((*name, attempt)).encode())


class Contexts:
    """One process's numbers. `byte` is the datatype that masks travel as."""

    def __init__(self, taken: int, byte: "Datatype") -> None:
        self._free = (1 << LIMIT) - (1 << taken)
        self._byte = byte
        self._offered = 0  # the numbers that are offered to an agreement on its short way
        self._under_way = 0

    def release(self, number: int) -> None:
        """The communicator has gone and nothing is under way on it."""
        self._free |= 1 << number

    def is_free(self, number: int) -> bool:
        return bool(self._free >> number & 1)

    def agree(self, link: Link) -> Agreement:
        """A number that is free at all processes of `link`, which must be between the members of one group."""
        return self._agree(_Members(link, None, self._byte))

    def agree_across(self, local: Link, leader: int, bridge: Link | None, remote: int) -> Agreement:
        """The same between two groups: each along its `local` link, and each group's `leader`, who alone has a `bridge`,
        with the other's, who is its `remote`."""
        return self._agree(_Members(local, _Across(leader, bridge, remote), self._byte))

    def _agree(self, members: _Members) -> Agreement:
        self._under_way += 1
        try:
            number = yield from self._short(members)
            if number is None:
                number = yield from self._long(members)
            return number
        finally:
            self._under_way -= 1

    def _short(self, members: _Members) -> Generator[Iterable[Operation], None, int | None]:
        offer = 0 if self._offered else _lowest_few(self._free & _SHARED_MASK)
        self._offered |= offer
        try:
            common = yield from members.intersect(offer, SHARED // 8)
            if not common:
                return None
            number = _lowest(common)
            self._free &= ~(1 << number)
            return number
        finally:
            self._offered &= ~offer

    def _long(self, members: _Members) -> Agreement:
        attempt = 0
        while True:
            attempt += 1
            number, quiet = yield from self._propose(members, attempt)
            if number is not None and (yield from self._reserve(members, number)):
                return number
            if number is None and quiet:
                raise MpiError(
                    ErrorClass.OTHER,
                    f"{members.link.call}: all {LIMIT} context numbers are in use; free communicators that are not needed",
                )

    def _propose(
        self, members: _Members, attempt: int
    ) -> Generator[Iterable[Operation], None, tuple[int | None, bool]]:
        """A number that was free everywhere, and whether nobody has another agreement under way. Each attempt chooses
        another number, and from the second on one in two offers nothing, so that two agreements do not go on to meet."""
        drawn = members.draw(attempt)
        offer = 0
        if attempt == 1 or drawn >> 16 & 1:
            if not self._available():
                gc.collect()  # communicators that were freed may be parts of circles
            offer = self._available()
        quiet = self._under_way == 1 and (attempt == 1 or bool(drawn >> 16 & 1))
        common = yield from members.intersect(offer | quiet << LIMIT, LIMIT // 8 + 1)
        candidates = common & (1 << LIMIT) - 1
        if not candidates:
            return None, bool(common >> LIMIT)
        start = drawn % LIMIT
        later = candidates >> start << start
        return _lowest(later or candidates), False

    def _reserve(self, members: _Members, number: int) -> Generator[Iterable[Operation], None, bool]:
        """Take the number if it is still free everywhere."""
        bit = 1 << number
        mine = bool(self._available() & bit)
        taken = False
        if mine:
            self._free &= ~bit
        try:
            taken = bool((yield from members.intersect(int(mine), 1)))
            return taken
        finally:
            if mine and not taken:
                self._free |= bit

    def _available(self) -> int:
        """Numbers that are not offered to an agreement on its short way."""
        return self._free & ~self._offered


def _lowest_few(bits: int) -> int:
    """The lowest `OFFER` bits that are set, and no more than a quarter of them."""
    rest = bits
    for _ in range(min(OFFER, bits.bit_count() // 4)):
        rest &= rest - 1
    return bits ^ rest


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
