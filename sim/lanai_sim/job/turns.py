"""The decision whether the processes of a run share one processor, and which one.

Most of the time only one process of a run can go on: a rank that was released, or the simulator. If
the next one is woken on another processor, that one was idle and its caches are cold. So they share a
processor (`lanai_host.simulator.spin`), by what the simulator sees of its waits for ranks:

* Ranks that are released together might compute at the same time. What they lose on one processor
  is weighed against what their wake-ups cost on idle ones.
* Ranks that compute for long share none, as a wake-up costs little then.
* If other work wants the same processor, the simulator is woken and does not run yet. Then nothing is shared
  for a while, in which the system spreads the processes.
"""

import os
import time
from collections.abc import Callable

from lanai_host.simulator.spin import NOWHERE, Steering

WAKING = 60e-6  # seconds that a wake-up on an idle processor costs
LONG = 1e-3  # seconds that a rank computes, from which a wake-up does not matter
LEAST = -20e-3  # the lowest value of one wait, so that a pause of the program is soon forgotten
BEGIN, END = WAKING / 2, WAKING / 8  # mean values from which processors are shared, and not any more
WEIGHT = 1 / 8  # of a wait in the mean
WINDOW = 64  # waits between two looks at the time for which this thread was delayed
DELAY = 60e-6  # seconds a wait, from which other work is on the processor
DELAYED_PART = 1 / 6  # of all time, likewise
FIRST_PAUSE, LAST_PAUSE = 0.05, 3.0  # seconds


class RunDelay:
    """Seconds for which the thread that asks first could have run, but another one had its processor; 0 where this
    is not known."""

    def __init__(self) -> None:
        self._file: int | None = None

    def __call__(self) -> float:
        try:
            if self._file is None:
                self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
            return 1e-9 * int(os.pread(self._file, 80, 0).split()[1])
        except (OSError, IndexError):
            return 0.0

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Turns:
    """Sets the processor of `steering` after each wait. `processors` is how many this process may run on,
    `delay` tells for how long it was delayed until now, and `now` the time, both in seconds."""

    def __init__(
        self, steering: Steering, processors: int, delay: Callable[[], float], now: Callable[[], float] = time.monotonic
    ) -> None:
        self.steering = steering
        self.processors = processors
        self.mean = 0.0  # seconds that a wait gains if a processor is shared, of late
        self._delay, self._now = delay, now
        self._pause, self._resume = FIRST_PAUSE, 0.0
        self._waits = 0  # in this window
        self._began = self._delayed = 0.0  # the time, and the delay, at which this window began

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
            if self._waits == WINDOW:
                self._look_at_delay()

    def _share(self) -> None:
        self.steering.processor = self.steering.here()
        self._begin_window(self._now(), self._delay())

    def _begin_window(self, now: float, delayed: float) -> None:
        self._waits, self._began, self._delayed = 0, now, delayed

    def _look_at_delay(self) -> None:
        now, delayed = self._now(), self._delay()
        lost = delayed - self._delayed
        if lost > max(WINDOW * DELAY, DELAYED_PART * (now - self._began)):
            self.steering.processor = NOWHERE
            self._resume = now + self._pause
            self._pause = min(2 * self._pause, LAST_PAUSE)
        else:
            self._pause = max(self._pause / 2, FIRST_PAUSE)
            self._begin_window(now, delayed)
