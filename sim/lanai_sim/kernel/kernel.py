"""The scheduler of simulated time: tasks (coroutines), moments, signals, and ranks that run as
processes.

Time is in picoseconds. While any rank's process runs code nothing moves; when all wait, the
earliest moments are taken in the order (time, task number, order of asking), so a run never depends
on which process was faster. An engine, if there is one, is let run up to the next moment and may
report events earlier.

A wait may have a timeout: the task is woken at that time if nothing else wakes it. A task whose
timeout expired once, and which waits for the same again, does not keep the simulation alive.
"""

import heapq
import math
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar

VALUE = TypeVar("VALUE")
FOREVER = 2**63 - 1


class Deadlock(Exception):
    """All tasks wait and nothing can happen any more."""


class TimeLimit(Exception):
    """Simulated time has reached the limit given."""


class WallLimit(Exception):
    """The run has taken as much real time as it may."""


class Interrupted(Exception):
    """A signal asks the run to end."""


class Suspension(Generic[VALUE]):
    """The wait of a task. Call `resume` once: the task goes on at that time with that value."""

    __slots__ = ("done", "kernel", "task")

    def __init__(self, kernel: "Kernel") -> None:
        self.kernel = kernel
        self.task: Task | None = None
        self.done = False

    def resume(self, value: VALUE | None = None) -> None:
        """Go on now. Call it from a moment's action or from the engine's events."""
        assert not self.done, "a suspension is resumed once"
        self.done = True
        assert self.task is not None
        self.kernel.step(self.task, value)

    def __await__(self) -> Generator["Suspension[VALUE]", Any, VALUE]:
        value: VALUE = yield self
        return value


class Task:
    """A coroutine under the scheduler. `waits` is what it hangs on."""

    __slots__ = ("coroutine", "done", "number", "result", "waits")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], number: int) -> None:
        self.coroutine = coroutine
        self.number = number
        self.done = False
        self.result: Any = None
        self.waits: Suspension[Any] | None = None


class Clockwork(Protocol):
    """A part that moves by itself between moments: the engine with its NICs."""

    def advance(self, limit: int) -> bool:
        """Run up to `limit` picoseconds, or less. Return True if it stopped earlier, because of an event
        that has been reported to tasks, or because it takes long. Return False if `limit` is
        reached, or nothing can happen until a task does something."""

    @property
    def still(self) -> bool:
        """The latter was the case the last time."""


class Outside(Protocol):
    """The place where tasks wait for other processes."""

    def wait(self) -> None:
        """Block until every process that runs code has asked for something, and hand over what was
        asked, in order of rank."""

    @property
    def running(self) -> int:
        """Processes that run code now."""

    @property
    def aside(self) -> Sequence[Any]:
        """Processes that wait for something outside the simulation: time passes without them."""

    def take_back(self) -> bool:
        """Count those of them that run code again as running from now on. Return True if there is one."""

    def wait_aside(self) -> None:
        """Let a little real time pass for them: nothing else can happen."""


class Kernel:
    """The scheduler. `now` is its time, `limit` where that ends, `deadline` the `time.monotonic()`
    at which real time ends, unless `put_off()` gives it some more seconds then."""

    def __init__(self) -> None:
        self.now = 0
        self.limit = FOREVER
        self.deadline = math.inf
        self.put_off: Callable[[], float] = lambda: 0.0
        self.signal = 0  # one that asks the run to end, told at the next turn, when no task is within a turn
        self.over: Exception | None = None  # why the run must end, raised at the next turn, as for a signal
        self.clockwork: Clockwork | None = None
        self.outside: Outside | None = None
        self._moments: list[tuple[int, int, int, Callable[[Any], None], Any]] = []
        self._timeouts: list[tuple[int, int, int, Suspension[Any], bool, int]] = []
        self._alone: list[Suspension[None]] = []
        self._order = 0
        self._open = 0  # tasks not done
        self.failure: BaseException | None = None

    def spawn(self, coroutine: Coroutine[Any, Any, Any], number: int = 0) -> Task:
        """Start a task at the present moment."""
        task = Task(coroutine, number)
        self._open += 1
        self.at(self.now, number, lambda _: self.step(task, None), None)
        return task

    def start(self, coroutine: Coroutine[Any, Any, Any], number: int) -> Task:
        """Start a task and let it run until it waits, though processes may run code."""
        task = Task(coroutine, number)
        self._open += 1
        self.step(task, None)
        return task

    def at(self, time: int, number: int, action: Callable[[Any], None], value: Any) -> None:
        """Call `action(value)` at `time`; `number` orders what happens at the same time."""
        self._order += 1
        heapq.heappush(self._moments, (time, number, self._order, action, value))

    def until(self, time: int, number: int = 0) -> Awaitable[None]:
        """Suspend a task until `time`."""
        suspension: Suspension[None] = Suspension(self)
        self.at(time, number, suspension.resume, None)
        return suspension

    def alone(self) -> Awaitable[None]:
        """Suspend a task until no process runs code, at this time: no process
        is then in the midst of a poll when the task writes to its memory."""
        suspension: Suspension[None] = Suspension(self)
        self._alone.append(suspension)
        return suspension

    def wake_at(self, time: int, number: int, suspension: Suspension[Any], alone: bool, since: int = 0) -> None:
        """Resume a suspension with None at `time` unless it is resumed sooner. `alone`: this does not
        keep the simulation going. The wait begins at `since`."""
        self._order += 1
        heapq.heappush(self._timeouts, (time, number, self._order, suspension, alone, since))

    def wake_timeouts(self, delay: int) -> None:
        """Wake all who wait so, `delay` after now or after the begin of their waits."""
        for _, number, _, suspension, _, since in sorted(self._timeouts, key=lambda entry: entry[:3]):
            if not suspension.done:
                self.at(max(self.now, since) + delay, number, _wake, suspension)

    def suspension(self) -> Suspension[Any]:
        return Suspension(self)

    def step(self, task: Task, value: Any) -> None:
        """Let a task run until it waits again."""
        try:
            waits = task.coroutine.send(value)
        except StopIteration as stop:
            task.done, task.result, task.waits = True, stop.value, None
            self._open -= 1
            return
        except BaseException:
            task.done = True
            self._open -= 1
            raise
        task.waits = waits
        waits.task = task

    def check(self) -> None:
        """Raises WallLimit, Interrupted or what `over` holds if the run must end."""
        if self.over is not None:
            raise self.over
        if self.signal:
            raise Interrupted(signal.Signals(self.signal).name)
        if time.monotonic() > self.deadline:
            if (more := self.put_off()) <= 0:
                raise WallLimit
            self.deadline = time.monotonic() + more

    def run(self) -> None:
        """Run until all tasks are done. Raises Deadlock, TimeLimit, WallLimit, Interrupted, or what
        a task raised."""
        outside, clockwork, moments = self.outside, self.clockwork, self._moments
        while self._open:
            self.check()
            if outside is not None and (outside.running or (outside.aside and outside.take_back())):
                outside.wait()
                continue
            if self._alone:
                self._alone.pop(0).resume()
                continue
            next_time = self.next_time()
            if clockwork is not None and clockwork.advance(min(next_time, self.limit)):
                continue
            if not moments and (clockwork is None or clockwork.still) and not self._timeout_pending():
                if outside is None or not outside.aside:
                    raise Deadlock
                outside.wait_aside()
                continue
            if next_time > self.limit or next_time == FOREVER:
                self.now = self.limit
                raise TimeLimit
            self._take(next_time)

    @property
    def alone_next(self) -> bool:
        """A task is to go on as soon as no process runs code (`alone`)."""
        return bool(self._alone)

    def next_time(self) -> int:
        """Return when something happens next, the NICs aside."""
        if self._alone:
            return self.now
        moments, timeouts = self._moments, self._timeouts
        while timeouts and timeouts[0][3].done:
            heapq.heappop(timeouts)
        time = moments[0][0] if moments else FOREVER
        return min(time, timeouts[0][0]) if timeouts else time

    def _timeout_pending(self) -> bool:
        """Is there a timeout within the limit that counts as pending work?"""
        return any(
            time <= self.limit and not alone and not suspension.done
            for time, _, _, suspension, alone, _ in self._timeouts
        )

    def _take(self, time: int) -> None:
        """All moments of this time, then its timeouts."""
        moments = self._moments
        while moments and moments[0][0] == time:
            self.now, _, _, action, value = heapq.heappop(moments)
            action(value)
        while self._timeouts and self._timeouts[0][0] == time:
            suspension = heapq.heappop(self._timeouts)[3]
            self.now = time
            _wake(suspension)


def _wake(suspension: Suspension[Any]) -> None:
    if not suspension.done:
        suspension.resume(None)
