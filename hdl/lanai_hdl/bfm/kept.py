"""Simulations that are used again. To elaborate a NIC and to prepare its simulation takes longer
than most runs of it."""

from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

from .pysim import Bench

KEPT = 12  # simulations, those used last


class Benched(Protocol):
    """Something with a bench. The rest of it must be as new when the bench is."""

    bench: Bench


Thing = TypeVar("Thing", bound=Benched)


class KeptSimulations:
    """Simulations of before, by key. Those of one key are made alike."""

    def __init__(self) -> None:
        self._kept: list[tuple[Hashable, Any]] = []

    def take(self, key: Hashable, slots: int, make: Callable[[], Thing]) -> Thing:
        """A thing whose bench has run to its end, with its bench as new; if there is none, what
        `make` makes."""
        for at, (known, thing) in enumerate(self._kept):
            if known == key and thing.bench.ended:
                self._kept.append(self._kept.pop(at))
                thing.bench.restart(slots)
                found: Thing = thing
                return found
        made = make()
        self._kept = [*self._kept, (key, made)][-KEPT:]
        return made


SIMULATIONS = KeptSimulations()
