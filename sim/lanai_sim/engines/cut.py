"""A machine cut at its cables: each part of it is simulated by a process of its own."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from lanai_hdl.errors import UserError

from .base import NEVER, Cable

WORK_OF_SWITCH = 3  # of simulating a switch of 16 ports, in NICs: measured with halo exchanges of 64 NICs


class Turn(NamedTuple):
    """The wish of a part for its next step, or that of all together.

    Members:
        limit: the slot of the next moment; NEVER if there is none.
        done: no task is left.
        pending: something is to come at a known time.
        aside: ranks wait for something outside of the simulation.
        over: the next moment is behind the run's limit of simulated time.
    """

    limit: int = NEVER
    done: bool = False
    pending: bool = False
    aside: bool = False
    over: bool = False


class Part(ABC):
    """One part as its engine sees it. `units`: the numbers of those that it has."""

    units: frozenset[int]

    @property
    @abstractmethod
    def links(self) -> "Links":
        """The way of messages to all other parts and back."""


class Links(ABC):
    """Messages between a part and all others, in rounds: each part sends one message to all and takes one from each.

    Attributes:
        exchange: the address of a function that native code calls for a round, `Exchange` in native/cut.h.
        argument: the first argument of that function.
        others: addresses, one for each other part, at which the function leaves what they have sent, unless it says
            otherwise.
    """

    exchange: int
    argument: int
    others: Sequence[int]

    @abstractmethod
    def fail(self) -> NoReturn:
        """Raise the exception by which the last round failed."""


def parts_of_units(parts: int, nics: int, switches: int, cables: Sequence[Cable]) -> list[int]:
    """Return the part of each unit. NICs go by number, the same count to each part but for one. A switch goes where
    most of its neighbours are, or to a part with less work that has half as many of them. Raises UserError for more
    parts than NICs."""
    if parts > nics:
        raise UserError(f"{parts} parts are more than the machine's {nics} NICs; start at most {nics} processes")
    found = {nic: nic * parts // nics for nic in range(nics)}
    work = Counter(found.values())
    left = list(range(nics, nics + switches))
    while left:
        votes = {unit: _votes(unit, cables, found) for unit in left}
        known = [unit for unit in left if votes[unit]] or left[:1]
        choices = {unit: _choices(votes[unit]) for unit in known}
        for unit in sorted(known, key=lambda one: (len(choices[one]), one)):
            found[unit] = min(choices[unit], key=lambda part: work[part])
            work[found[unit]] += WORK_OF_SWITCH
        left = [unit for unit in left if unit not in found]
    return [found[unit] for unit in range(nics + switches)]


def _votes(unit: int, cables: Sequence[Cable], found: dict[int, int]) -> Counter[int]:
    ends = [(cable.unit, cable.other_unit) for cable in cables]
    there = [b for a, b in ends if a == unit] + [a for a, b in ends if b == unit]
    return Counter(found[other] for other in there if other in found)


def _choices(votes: Counter[int]) -> list[int]:
    """Return the parts that may have a switch, the one with most of its neighbours first."""
    enough = max(votes.values(), default=0) / 2
    return sorted((part for part in votes if votes[part] >= enough), key=lambda part: (-votes[part], part)) or [0]
