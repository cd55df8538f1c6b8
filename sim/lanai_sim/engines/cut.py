"""A machine cut at its cables: each part of it is simulated by a process of its own."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence

from lanai_hdl.errors import UserError

from .base import Cable


class Part(ABC):
    """One part as its engine sees it.

    Attributes:
        units: the numbers of those that it has.
        others: addresses of memory, one for each other part, into which `exchange` puts what that part has sent.
    """

    units: frozenset[int]
    others: Sequence[int]

    @abstractmethod
    def exchange(self, address: int, size: int) -> int:
        """Send these bytes to all other parts, and wait for theirs. Return 0; something else if that failed. It
        is called by native code and raises nothing."""

    @abstractmethod
    def fail(self) -> None:
        """Raise the exception by which the last exchange failed."""


def parts_of_units(parts: int, nics: int, switches: int, cables: Sequence[Cable]) -> list[int]:
    """Return the part of each unit. NICs go by number, the same count to each part but for one; a switch goes where
    most of its neighbours are. Raises UserError for more parts than NICs."""
    if parts > nics:
        raise UserError(f"{parts} parts are more than the machine's {nics} NICs; start at most {nics} processes")
    found = {nic: nic * parts // nics for nic in range(nics)}
    left = list(range(nics, nics + switches))
    while left:
        votes = {unit: _votes(unit, cables, found) for unit in left}
        known = [unit for unit in left if votes[unit]] or left[:1]
        found |= {unit: _most(votes[unit]) for unit in known}
        left = [unit for unit in left if unit not in found]
    return [found[unit] for unit in range(nics + switches)]


def _votes(unit: int, cables: Sequence[Cable], found: dict[int, int]) -> Counter[int]:
    ends = [(cable.unit, cable.other_unit) for cable in cables]
    there = [b for a, b in ends if a == unit] + [a for a, b in ends if b == unit]
    return Counter(found[other] for other in there if other in found)


def _most(votes: Counter[int]) -> int:
    return min(votes, key=lambda part: (-votes[part], part), default=0)
