"""Waits for a time: a thread that sleeps, or that waits with a time limit for something outside of MPI."""

from collections.abc import Callable, Sequence

from ..operation import Operation
from ..wait import Wait

SHORTEST = 500_000  # picoseconds between two looks at what is waited for ...
SHARE = 8  # ... or this part of the time that has been waited


class Timed:
    """A wait until the time `until`, or until `ready`. `now` gives the rank's time, in picoseconds."""

    def __init__(self, now: Callable[[], int], until: int, ready: Callable[[], bool] | None = None) -> None:
        self.begun = now()
        self.until = until
        self.was_ready = False
        self._now, self._ready = now, ready

    @property
    def done(self) -> bool:
        if self._ready is not None and not self.was_ready:
            self.was_ready = self._ready()
        return self.was_ready or self._now() >= self.until

    def operations(self) -> list[Operation]:
        """No operation ends it."""
        return []

    def why(self) -> Wait:
        return Wait("a sleep")

    def step(self, since: int, alone: bool) -> int:
        """Return the picoseconds until the next look at what is waited for since `since`. `alone`: no
        other thread waits."""
        now = self._now()
        left = self.until - now
        if alone and self._ready is None:
            return left
        return min(left, step_after(now - since))


def step_after(waited: int) -> int:
    """Return the picoseconds until the next look, after a wait of so many."""
    return max(SHORTEST, waited // SHARE)


def timed_among(targets: Sequence[object]) -> list[Timed]:
    """Return the waits that end at a time and are not done."""
    return [target for target in targets if isinstance(target, Timed) and not target.done]
