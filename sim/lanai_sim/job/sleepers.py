"""Ranks whose processes sleep in real time, as an event loop with timers does: simulated time passes
without them while they sleep.

How long they sleep depends on the machine, so the times of such a run are not exact. A rank that
sleeps now and then between its MPI calls is not among these: time stands still for it.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from .system_calls import Times, sleeps_in, times_of_all

PATIENCE = 2.0  # seconds of its own without an MPI call after which a process that sleeps is a sleeper, ...
LAZY = 0.1  # ... unless it has run code for this part of them
PERIOD = 0.002  # seconds between two looks at a sleeper
NOTE = "ranks that slept in real time went on while others did: simulated times of this run are not exact"


@dataclass(frozen=True)
class _Seen:
    """A process that has made no MPI call since."""

    clock: int
    when: float
    threads: Mapping[str, Times]

    def since(self, threads: Mapping[str, Times]) -> tuple[float, float]:
        """Return the seconds that the process has had since, and the part of them for which it has run code. When one
        of its threads could have run, but the machine had other work, is not the process's time."""
        waited, own, share = time.monotonic() - self.when, [], 0.0
        for number, now in threads.items():
            before = self.threads.get(number, Times(0.0, 0.0))
            ran = now.ran - before.ran
            own.append(max(ran, waited - (now.delayed - before.delayed)))
            share += ran / own[-1] if ran > 0 else 0.0
        return min(own, default=waited), share


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
        seen = self._seen.get(pid)
        if seen is not None and seen.clock == clock:
            seconds, share = seen.since(times_of_all(pid))
            if seconds < PATIENCE:
                return False
            if share <= LAZY:
                return True
        self._seen[pid] = _Seen(clock, time.monotonic(), times_of_all(pid))
        return False
