"""The members of Verilator's class that each evaluation of a model reads and assigns."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from .case import Moment
from .slot import OWN, Part, Slot, trigger

MENTION = re.compile(r"vlSelfRef\.(\w+)")
ASSIGNMENT = re.compile(r"vlSelfRef\.(\w+)(?:\s*\[[^\]]*\])*\s*(?:[-+|&^]|<<|>>)?=[^=]")
ASSIGNED = re.compile(r"\s*=[^=]([^;]*);")


class Mentions:
    """The members that one part mentions."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.words = Counter(re.findall(r"\w+", part.text))
        self.members = Counter(MENTION.findall(part.text))

    @cached_property
    def assigned(self) -> frozenset[str]:
        return frozenset(ASSIGNMENT.findall(self.part.text))

    @property
    def needed(self) -> set[str]:
        """The members whose values the part needs that they had before."""
        return _read([self])

    @cached_property
    def reads(self) -> dict[str, bool]:
        """False for a member that the part assigns first, in all cases."""
        first: dict[str, re.Match[str]] = {}
        for found in MENTION.finditer(self.part.text):
            first.setdefault(found[1], found)
        return {name: _reads(self.part.text, found) for name, found in first.items()}


def _reads(text: str, first: re.Match[str]) -> bool:
    before = text[: first.start()]
    statement = max(before.rfind(mark) for mark in ";{}")
    if before[statement + 1 :].strip() or before.count("{") > before.count("}"):
        return True
    assigned = ASSIGNED.match(text, first.end())
    return assigned is None or re.search(rf"\b{first[1]}\b", assigned[1]) is not None


@dataclass(frozen=True)
class Evaluations:
    """All evaluations of a model: sets of clocks that may rise together, as bits. `together`: clocks that
    rise only when the model's own does."""

    slot: Slot
    parts: tuple[Mentions, ...]
    own: int
    together: int

    @classmethod
    def of(cls, source: str, slot: Slot, together: Collection[str] = ()) -> "Evaluations":
        bits = sum(trigger(source, clock) for clock in together)
        return cls(slot, tuple(map(Mentions, slot.parts)), trigger(source, OWN), bits)

    def of_moment(self, moment: Moment) -> tuple[Mentions, ...]:
        """The parts that a moment evaluates, in order; none for a moment that the model does not have.

        With blocks awake, what follows their inputs comes last. So the inputs that blocks see are those of the slot:
        what they follow has been evaluated."""
        if moment == Moment.ALONE:
            return self._after(self.own)
        if moment == Moment.INPUTS:
            return self._after(self._inputs)
        own, state = self._awake
        return own if moment == Moment.OWN else state

    @property
    def _inputs(self) -> int:
        return sum(self.slot.clocks) & ~(self.own | self.together)

    @cached_property
    def _awake(self) -> tuple[tuple[Mentions, ...], tuple[Mentions, ...]]:
        """The parts of `OWN` and of `STATE`; none of both if they cannot be evaluated in this order."""
        own = tuple(part for part in self.parts if part.part.triggers == self.own)
        state = tuple(part for part in self.parts if part not in own and not part.part.triggers & self._inputs)
        return (own, state) if own and state and self._after(self._inputs) and self._apart else ((), ())

    @cached_property
    def _apart(self) -> bool:
        """Blocks and what follows the model's own clock alone know each other only through the blocks' inputs and what
        follows both, as in `RestingBlock`: then the second may come first. Both may set bits of one member."""
        pairs = [
            (one, other)
            for one, other in combinations(self.parts, 2)
            if one.part.triggers & (self.own | self.together) and other.part.triggers == self.own
        ]
        return not any(
            (one.assigned - other.assigned) & other.needed or (other.assigned - one.assigned) & one.needed
            for one, other in pairs
            if one.part.triggers != self.own
        )

    def texts(self, moment: Moment) -> tuple[str, ...]:
        return tuple(part.part.text for part in self.of_moment(moment))

    def calls(self, moment: Moment) -> tuple[str, ...]:
        return tuple(part.part.call for part in self.of_moment(moment))

    def mentions(self, moment: Moment) -> set[str]:
        """The members that the evaluation mentions, if all its mentions are of the member."""
        parts = self.of_moment(moment)
        members = sum((part.members for part in parts), Counter[str]())
        words = sum((part.words for part in parts), Counter[str]())
        return {name for name, count in members.items() if count == words[name]}

    def reads(self, moment: Moment) -> dict[str, bool]:
        """False for the members that the evaluation assigns before anything reads them."""
        return _first(self.of_moment(moment))

    @cached_property
    def words(self) -> Counter[str]:
        """Return how often each word is in a part."""
        return sum((part.words for part in self.parts), Counter[str]())

    @cached_property
    def needed(self) -> frozenset[str]:
        """The members of which some evaluation needs the value that they had before."""
        found = set[str]()
        for risen in self._sets():
            found |= _read(self._after(risen))
        awake = (Moment.OWN, Moment.STATE, Moment.INPUTS)
        return frozenset(found | _read(part for moment in awake for part in self.of_moment(moment)))

    def needed_after(self, moment: Moment) -> frozenset[str]:
        """Return the members of which something needs the value that they have after this moment."""
        return self.needed | _read(self.of_moment(Moment.STATE)) if moment == Moment.OWN else self.needed

    def _after(self, risen: int) -> tuple[Mentions, ...]:
        return tuple(part for part in self.parts if part.part.triggers & risen)

    def _sets(self) -> Iterable[int]:
        for count in range(1, len(self.slot.clocks) + 1):
            for clocks in combinations(self.slot.clocks, count):
                risen = sum(clocks)
                if risen & self.own or not risen & self.together:
                    yield risen


def _read(parts: Iterable[Mentions]) -> set[str]:
    return {name for name, reads in _first(parts).items() if reads}


def _first(parts: Iterable[Mentions]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for part in parts:
        for name, reads in part.reads.items():
            found.setdefault(name, reads)
    return found
