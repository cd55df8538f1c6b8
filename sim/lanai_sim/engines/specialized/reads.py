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
ASSIGNED = re.compile(r"\s*=[^=]([^;]*);")


class Mentions:
    """The members that one part mentions."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.words = Counter(re.findall(r"\w+", part.text))
        self.members = Counter(MENTION.findall(part.text))

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

    def risen(self, moment: Moment) -> int:
        """The clocks that rise at a moment; 0 for a moment that the model does not have."""
        if moment == Moment.ALONE:
            return self.own
        if moment == Moment.AWAKE:
            return self.own | self.together if self.together else 0
        return sum(self.slot.clocks) & ~(self.own | self.together)

    def texts(self, moment: Moment) -> tuple[str, ...]:
        return tuple(part.part.text for part in self._after(self.risen(moment)))

    def mentions(self, moment: Moment) -> set[str]:
        """The members that the evaluation mentions, if all its mentions are of the member."""
        parts = self._after(self.risen(moment))
        members = sum((part.members for part in parts), Counter[str]())
        words = sum((part.words for part in parts), Counter[str]())
        return {name for name, count in members.items() if count == words[name]}

    def reads(self, moment: Moment) -> dict[str, bool]:
        """False for the members that the evaluation assigns before anything reads them."""
        return _first(self._after(self.risen(moment)))

    @cached_property
    def words(self) -> Counter[str]:
        """Return how often each word is in a part."""
        return sum((part.words for part in self.parts), Counter[str]())

    @cached_property
    def needed(self) -> frozenset[str]:
        """The members of which some evaluation needs the value that they had before."""
        found = set[str]()
        for risen in self._sets():
            found |= {name for name, reads in _first(self._after(risen)).items() if reads}
        return frozenset(found)

    def _after(self, risen: int) -> tuple[Mentions, ...]:
        return tuple(part for part in self.parts if part.part.triggers & risen)

    def _sets(self) -> Iterable[int]:
        for count in range(1, len(self.slot.clocks) + 1):
            for clocks in combinations(self.slot.clocks, count):
                risen = sum(clocks)
                if risen & self.own or not risen & self.together:
                    yield risen


def _first(parts: Iterable[Mentions]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for part in parts:
        for name, reads in part.reads.items():
            found.setdefault(name, reads)
    return found
