"""The decision whether the processes of a run share one processor, and which one.

Most of the time only one process of a run can go on: a rank that was released, or the simulator. If
the next one is woken on another processor, that one was idle and its caches are cold. So they share a
processor (`lanai_host.simulator.spin`), by what the simulator sees of its waits for ranks:

* Ranks that are released together might compute at the same time. What they lose on one processor
  is weighed against what their wake-ups cost on idle ones.
* Ranks that compute for long share none, as a wake-up costs little then.
* If other work wants the same processor, the simulator is woken and does not run yet. A rank that goes to
  sleep delays it likewise. So the simulator looks how long the run's own threads have run meanwhile. The
  rest is other work's. Then nothing is shared for a while, in which the system spreads the processes.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lanai_host.simulator.spin import NOWHERE, Steering

from .system_calls import Times, sleeps_in, times_of_all

WAKING = 60e-6  # seconds that a wake-up on an idle processor costs
LONG = 1e-3  # seconds that a rank computes, from which a wake-up does not matter
LEAST = -20e-3  # the lowest value of one wait, so that a pause of the program is soon forgotten
BEGIN, END = WAKING / 2, WAKING / 8  # mean values from which processors are shared, and not any more
WEIGHT = 1 / 8  # of a wait in the mean
WINDOW = 64  # waits between two looks at the time for which this thread was delayed
DELAY = 60e-6  # seconds a wait, from which other work may be on the processor
FOREIGN = 1 / 6  # of all time, from which it is
LOOKS = 100  # times as long as it takes to see how long all threads ran, it must matter
FIRST_PAUSE, LAST_PAUSE = 0.05, 3.0  # seconds


class Turns:
    """Sets the processor of `steering` after each wait. `processors` is how many this process may run on,
    `own` tells the times of this thread until now, `ranks_ran` for how many seconds the ranks' threads have run, and
    `now` the time in seconds."""

    def __init__(
        self,
        steering: Steering,
        processors: int,
        own: Callable[[], Times],
        ranks_ran: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.steering = steering
        self.processors = processors
        self.mean = 0.0  # seconds that a wait gains if a processor is shared, of late
        self._own, self._ranks_ran, self._now = own, ranks_ran, now
        self._pause, self._resume = FIRST_PAUSE, 0.0
        self._waits = 0  # in this window
        self._began, self._own_before = 0.0, Times(0.0, 0.0)  # when this window began
        self._ranks_before: float | None = None  # likewise, if it is known
        self._least = 0.0  # seconds of a window at whose end the ranks are looked at

    def value(self, released: int, seconds: float) -> float:
        """Seconds that a wait for so many ranks gains if they share a processor with the simulator, less what it
        loses."""
        at_once = min(released, self.processors)
        if seconds > LONG * released and at_once == 1:
            return 0.0
        lost = 1 - 1 / at_once if self.steering.processor != NOWHERE else at_once - 1
        return max(WAKING * released / at_once - seconds * lost, LEAST)

    def waited(self, released: int, seconds: float) -> None:
        """So many ranks were released, and have all asked for something after so many seconds."""
        if self.processors < 2:
            return
        self.mean += WEIGHT * (self.value(released, seconds) - self.mean)
        if self.steering.processor == NOWHERE:
            if self.mean > BEGIN and self._now() >= self._resume:
                self._share()
        elif self.mean < END:
            self.steering.processor = NOWHERE
        else:
            self._waits += 1
            if self._waits % WINDOW == 0:
                self._look_at_delay()

    def _share(self) -> None:
        self.steering.processor = self.steering.here()
        self._begin_window(self._now(), self._own(), self._look_at_ranks() if self._pause > FIRST_PAUSE else None)

    def _begin_window(self, now: float, own: Times, ranks: float | None) -> None:
        self._waits, self._began, self._own_before, self._ranks_before = 0, now, own, ranks

    def _look_at_ranks(self) -> float:
        """Return for how many seconds they ran. Keep how long this look took, as there may be many ranks."""
        began = self._now()
        ran = self._ranks_ran()
        self._least = LOOKS * (self._now() - began)
        return ran

    def _look_at_delay(self) -> None:
        now, own = self._now(), self._own()
        seconds, delayed = now - self._began, own.delayed - self._own_before.delayed
        if delayed <= max(self._waits * DELAY, FOREIGN * seconds):
            self._go_on(now, own, None)
        elif self._ranks_before is None:
            self._begin_window(now, own, self._look_at_ranks())
        elif seconds >= self._least:
            ranks = self._look_at_ranks()
            ran = own.ran - self._own_before.ran + ranks - self._ranks_before
            if seconds - ran <= FOREIGN * seconds:
                self._go_on(now, own, ranks)
            else:
                self.steering.processor = NOWHERE
                self._resume = now + self._pause
                self._pause = min(2 * self._pause, LAST_PAUSE)

    def _go_on(self, now: float, own: Times, ranks: float | None) -> None:
        self._pause = max(self._pause / 2, FIRST_PAUSE)
        self._begin_window(now, own, ranks)


# Ranks whose processes sleep in real time, as an event loop with timers does: simulated time passes without them
# while they sleep.
#
# How long they sleep depends on the machine, so the times of such a run are not exact. A rank that sleeps now and
# then between its MPI calls is not among these: time stands still for it.


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
