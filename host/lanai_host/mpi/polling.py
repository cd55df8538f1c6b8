"""Polls that find nothing, again and again: after very many somebody should be told what is polled for.

The polls are counted, since how long they take depends on the machine and its load."""

from collections.abc import Callable
from typing import Protocol

from ..operation import Wait

VAIN = 50_000  # polls that the program makes in a row, after which it is told, and told again
FEW = 64  # polls in a row that the program makes itself
MOST = 10  # doublings of the polls that pass at once


class Asks(Protocol):
    """The requests or the message that a poll asks for."""

    def why(self) -> Wait:
        """Return what a process would wait for, as a report says it."""


class Polls:
    """Polls in a row of one process without success. `tell(why)` hears of a row that lasts, and
    `tell(None)` of its end. It takes no simulated time."""

    tell: Callable[[Wait | None], None] | None = None

    def __init__(self) -> None:
        self._row = 0
        self._told = False
        self._target: Asks | None = None
        self._at = 0  # picoseconds
        self._took = -1
        self._alike = 0

    @property
    def many(self) -> bool:
        """Is the row so long that polls may pass at once?"""
        return self._row >= FEW

    def alike(self, target: Asks, now: int) -> tuple[int, int] | None:
        """Say how long the last polls took, and how many more like them may pass at once. They asked for the same, one
        after the other, with nothing between that took time. None: they were not alike."""
        took = now - self._at
        self._alike = self._alike + 1 if took == self._took and target == self._target else 0
        self._target, self._took, self._at = target, took, now
        return (took, 1 << min(self._alike - 1, MOST)) if self._alike else None

    def passed(self, now: int) -> None:
        """Polls have passed at once, up to this time."""
        self._at = now

    def missed(self, target: Asks) -> None:
        """A poll did not find what it asked for."""
        self._row += 1
        if self._row % VAIN == 0 and self.tell is not None:
            self._told = True
            self.tell(target.why())

    def found(self) -> None:
        """The process has got on."""
        self._row = 0
        self._target = None
        if self._told and self.tell is not None:
            self._told = False
            self.tell(None)
