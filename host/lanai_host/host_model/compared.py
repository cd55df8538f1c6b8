"""The number of envelopes that the processor compares when it looks for one in a queue (`HostCosts.queue`)."""

from bisect import bisect_left
from typing import Protocol

from ..config import Queue


class Compared(Protocol):
    """The order of a queue's entries, of all contexts. An entry is known by its number, which grows."""

    def add(self) -> int:
        """Return the number of a new entry, which is behind all others."""

    def remove(self, number: int) -> None:
        """The entry has left the queue."""

    def count(self, found: int | None, looks: int) -> int:
        """Return how many envelopes are compared to find this entry, or to find none. `looks`: in hash
        tables."""


class List:
    """A list of all contexts, searched from its oldest entry on, as MPICH's ADI has it."""

    def __init__(self) -> None:
        self._next = 0
        self._numbers: list[int] = []  # of the entries, oldest first

    def add(self) -> int:
        self._next += 1
        self._numbers.append(self._next)
        return self._next

    def remove(self, number: int) -> None:
        del self._numbers[bisect_left(self._numbers, number)]

    def count(self, found: int | None, looks: int) -> int:
        return len(self._numbers) if found is None else bisect_left(self._numbers, found) + 1


class Hash:
    """A hash table for each context and each way of using wildcards."""

    def __init__(self) -> None:
        self._next = 0

    def add(self) -> int:
        self._next += 1
        return self._next

    def remove(self, number: int) -> None:
        return

    def count(self, found: int | None, looks: int) -> int:
        return looks


KINDS: dict[Queue, type[List] | type[Hash]] = {Queue.LIST: List, Queue.HASH: Hash}


def compared(queue: Queue) -> Compared:
    """Return a new order of entries."""
    return KINDS[queue]()
