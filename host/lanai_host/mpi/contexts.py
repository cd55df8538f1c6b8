"""Context numbers: what keeps communicators apart, agreed on by all members of a new one.

Each process keeps a mask of the numbers it has free; the members AND their masks and take the lowest bit that is left.
While one agreement of a process is under way its mask is out, and others (other threads, non-blocking duplicates) offer
nothing and try again; of those that wait, the one on the communicator with the lowest number goes first, so that two
processes never block each other for ever.
"""

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..device import Operation
from .collectives.reduce import allreduce_into
from .collectives.schedule import Link
from .errors import ErrorClass, MpiError
from .memory import Scratch, array_at
from .op import Op

if TYPE_CHECKING:
    from .datatypes import Datatype

LIMIT = 2048  # numbers; each several device contexts of 16 bits (`base.CONTEXTS`)
_MASK_BYTES = LIMIT // 8
_SIZE = _MASK_BYTES + 1  # and one byte: 1 if the mask was offered by all

Agreement = Generator[Iterable[Operation], None, int]


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
        bridge, remote = self.bridge, self.remote
        if bridge is None:
            yield [local.receive_bytes(self.leader, mask.address, _SIZE)]
            return
        theirs = Scratch(_SIZE)
        yield [bridge.receive_bytes(remote, theirs.address, _SIZE), bridge.send_bytes(remote, mask.address, _SIZE)]
        mask.data &= theirs.data
        yield [local.send_bytes(rank, mask.address, _SIZE) for rank in range(local.size) if rank != local.rank]


class Contexts:
    """One process's numbers. `byte` is the datatype that masks travel as."""

    def __init__(self, taken: int, byte: "Datatype") -> None:
        self._free = (1 << LIMIT) - (1 << taken)
        self._byte = byte
        self._waiting: list[tuple[int, int]] = []  # (number of the communicator, ticket)
        self._owner: tuple[int, int] | None = None
        self._tickets = 0

    def release(self, number: int) -> None:
        """The communicator has gone and nothing is under way on it."""
        self._free |= 1 << number

    def is_free(self, number: int) -> bool:
        return bool(self._free >> number & 1)

    def agree(self, link: Link) -> Agreement:
        """A number that is free at all processes of `link`, which must be between the members of one group."""
        return self._agree(link, None)

    def agree_across(self, local: Link, leader: int, bridge: Link | None, remote: int) -> Agreement:
        """The same between two groups: each along its `local` link, and each group's `leader`, who alone has a `bridge`,
        with the other's, who is its `remote`."""
        return self._agree(local, _Across(leader, bridge, remote))

    def _agree(self, link: Link, across: "_Across | None") -> Agreement:
        self._tickets += 1
        ticket = (link.communicator.number, self._tickets)
        self._waiting.append(ticket)
        mask = Scratch(_SIZE)
        try:
            while True:
                self._offer(ticket, mask)
                yield from allreduce_into(link, mask.address, mask.address, _SIZE, self._byte, AND)
                if across is not None:
                    yield from across.meet(link, mask)
                number, offered = self._lowest(mask)
                if number is not None:
                    self._free &= ~(1 << number)
                    return number
                if offered:
                    raise MpiError(ErrorClass.OTHER, f"{link.call}: all {LIMIT} context numbers are in use")
                self._withdraw(ticket)
        finally:
            self._waiting.remove(ticket)
            self._withdraw(ticket)

    def _offer(self, ticket: tuple[int, int], mask: Scratch) -> None:
        if self._owner is None and ticket == min(self._waiting):
            self._owner = ticket
            mask.data[:_MASK_BYTES] = np.frombuffer(self._free.to_bytes(_MASK_BYTES, "little"), np.uint8)
            mask.data[_MASK_BYTES] = 1
        else:
            mask.data[:] = 0

    def _withdraw(self, ticket: tuple[int, int]) -> None:
        if self._owner == ticket:
            self._owner = None

    @staticmethod
    def _lowest(mask: Scratch) -> tuple[int | None, bool]:
        bits = int.from_bytes(mask.data[:_MASK_BYTES].tobytes(), "little")
        offered = bool(mask.data[_MASK_BYTES])
        return ((bits & -bits).bit_length() - 1 if bits else None), offered
