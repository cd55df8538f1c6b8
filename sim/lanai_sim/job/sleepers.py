"""Ranks whose processes sleep in real time, as an event loop with timers does: simulated time passes
without them while they sleep.

How long they sleep depends on the machine, so the times of such a run are not exact. A rank that
sleeps now and then between its MPI calls is not among these: time stands still for it.
"""

import time
from dataclasses import dataclass

from .system_calls import sleeps_in, spent

PATIENCE = 2.0  # seconds without an MPI call after which a process that sleeps is a sleeper, ...
LAZY = 0.1  # ... unless it has run code for this part of them
PERIOD = 0.002  # seconds between two looks at a sleeper
NOTE = "ranks that slept in real time went on while others did: simulated times of this run are not exact"


@dataclass(frozen=True)
class _Seen:
    """A process that has made no MPI call since."""

    clock: int
    when: float
    spent: float


class Sleepers:
    """Judges processes by their own doing, never by a delay that the machine caused."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._seen: dict[int, _Seen] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def knows(self, pid: int) -> bool:
        """Return whether this process is known to sleep in real time."""
        return pid in self._known

    def sleeps(self, pid: int, clock: int) -> bool:
        """Return whether a process sleeps now and is a sleeper. `clock` is its rank's time, by which
        its calls are noticed. To be asked again and again while it runs code."""
        if not sleeps_in(pid):
            return False
        if pid not in self._known and self._is_sleeper(pid, clock):
            self._known.add(pid)
        return pid in self._known

    def _is_sleeper(self, pid: int, clock: int) -> bool:
        now, seen = time.monotonic(), self._seen.get(pid)
        if seen is None or seen.clock != clock:
            self._seen[pid] = _Seen(clock, now, spent(pid))
            return False
        waited = now - seen.when
        if waited < PATIENCE:
            return False
        if spent(pid) - seen.spent > LAZY * waited:
            self._seen[pid] = _Seen(clock, now, spent(pid))
            return False
        return True
