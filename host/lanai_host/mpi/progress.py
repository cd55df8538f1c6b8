"""Progress: the one place that lets a device work, moves collective schedules on, and blocks.

All calls into the device are made under `Progress.lock`, so devices need not be thread-safe. While
the process has one thread, a blocking call sleeps inside the device (and the simulation may move,
and may find a deadlock). With several threads under `lanai run` the lock is taken in an order
(`thread_order`), and the simulation moves when all threads have stopped. Elsewhere one waiting
thread pumps the device and the others sleep on a condition variable; the pump looks and lets go of
the lock in turns, because another thread's send may be what it waits for.
"""

import _thread
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .. import real_time
from ..device import Device
from ..operation import Operation, Wait
from . import threads
from .constants import ThreadLevel
from .polling import Asks, Polls
from .threads import ThreadOrder

# Waits for a time: a thread that sleeps, or that waits with a time limit for something outside of MPI.

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


SINGLE, MULTIPLE = ThreadLevel.SINGLE, ThreadLevel.MULTIPLE  # asked with every call, and slow to find in their class
NEVER = Operation()  # is never done
LONGEST = 100_000_000  # picoseconds of a step while a thread that sleeps in real time is waited for no more
PUMP_PAUSE = 20e-6  # seconds that a pumping thread leaves the lock and the interpreter to the others


class Ends(Protocol):
    """An action that is done at some time."""

    @property
    def done(self) -> bool: ...


class Waitable(Ends, Protocol):
    """A condition that a thread can wait for."""

    def operations(self) -> list[Operation]:
        """Device operations of which one at least must end before `done` can change; none if
        unknown."""

    def why(self) -> Wait:
        """Return the wait as a deadlock report says it."""


class Task(Protocol):
    """Background work, such as a collective's schedule."""

    def advance(self) -> bool:
        """Go on as far as ended operations allow; True when finished."""

    def operations(self) -> list[Operation]:
        """Return the operations that it waits for. Once it has gone on, none of them is done."""


class Service(Task, Protocol):
    """A task that answers other processes and lasts until MPI ends. `Device.fast_path` may be used
    while `request` is not done: once it is, something may have come that `advance` has not dealt
    with.

    `request` is another one only after `advance`."""

    @property
    def request(self) -> Ends: ...

    def stop(self) -> None:
        """MPI ends: nothing will come any more."""


class _Any:
    """Done when one of several is."""

    def __init__(self, parts: list[Ends]) -> None:
        self._parts = parts

    @property
    def done(self) -> bool:
        return any(part.done for part in self._parts)


class _Several:
    """The waits of several threads. `why` is the first one's, and says that there are more."""

    def __init__(self, targets: list[Waitable]) -> None:
        self._targets = targets

    @property
    def done(self) -> bool:
        return any(target.done for target in self._targets)

    def operations(self) -> list[Operation]:
        found: list[Operation] = []
        for target in self._targets:
            operations = target.operations()
            if not operations:
                return []  # of one it is not known what would help
            found += operations
        return found

    def why(self) -> Wait:
        first, *more = [target.why() for target in self._targets]
        if not more:
            return first
        note = "; ".join(filter(None, [first.note, "other threads: " + ", ".join(_brief(wait) for wait in more)]))
        return first._replace(note=note)


def _brief(wait: Wait) -> str:
    parts = [f"{name} {value}" for name, value in (("peer", wait.peer), ("tag", wait.tag)) if value is not None]
    return " ".join([wait.call, *parts])


class Progress:
    """`level` is the thread level granted. `foreign_threads` says that threads may exist which
    Python did not start (a C program), so that they are counted with the kernel; `count` counts
    them, and there are `usual_threads` in a process that has one. `lockstep`: simulated time waits
    for all threads of this process."""

    def __init__(self, device: Device, foreign_threads: bool = False, lockstep: bool = False) -> None:
        self.device = device
        self.level = SINGLE
        self.usual_threads = 1 if foreign_threads else 0
        self.count: Callable[[], int] = threads.count if foreign_threads else _thread._count
        self.order = ThreadOrder(self.count, self.usual_threads, f"rank {device.rank}: ") if lockstep else None
        self.pass_time: Callable[[int], None] | None = None  # lets so many picoseconds pass, for all ranks
        mutex = threading.RLock()
        self.lock: Any = mutex if self.order is None else self.order
        self._changed = threading.Condition(mutex)
        self._tasks: dict[Task, None] = {}  # in the order in which they were started
        self._services: list[Service] = []
        self._request: Ends = NEVER  # of all services; each message asks whether it is done
        self._pumping = False
        self._begun: dict[int, int] = {}  # by thread: when it began to wait, in picoseconds
        self.polls = Polls()

    def several_threads(self) -> bool:
        """More than one thread may run code of the program's. A program that asked for one thread
        is taken at its word."""
        return self.level > SINGLE and self.count() > self.usual_threads

    def alone(self) -> bool:
        """No other thread, and no work in the background: `Device.fast_path` may be used."""
        if self._tasks or self._request.done:
            return False
        return self.level == SINGLE or self.count() <= self.usual_threads

    def grant(self, level: ThreadLevel) -> None:
        """The thread level is known."""
        self.level = level
        if self.order is not None:
            self.order.multiple = level == MULTIPLE

    def start(self, task: Task) -> None:
        """Run a task now as far as it goes, and later whenever anything makes progress."""
        with self.lock:
            if not task.advance():
                self._tasks[task] = None

    def serve(self, service: Service) -> None:
        """Let a service work from now on, until `stop_services`."""
        with self.lock:
            self._services.append(service)
            self._advance_services()

    def stop_services(self) -> None:
        """MPI ends."""
        with self.lock:
            while self._services:
                self._services.pop().stop()
            self._request = NEVER

    def work(self, picoseconds: int) -> bool:
        """The program's own work, which other ranks may interrupt. False: none can, and no time has
        passed."""
        if self.device.work is None or self.several_threads():
            return False
        with self.lock:
            self.device.work(picoseconds, self._advance)
        return True

    def sleep(self, target: Timed) -> None:
        """Let time pass until `target.done`, while other threads may wait for messages."""
        with self.lock:
            while not target.done:
                if self.order is not None and self.several_threads():
                    self._wait_in_turns(target, self.order)
                else:
                    self._pass(target.step(target.begun, alone=True))

    def poll(self) -> None:
        """Look once, without blocking."""
        with self.lock:
            self.device.progress()
            self._advance()

    def missed(self, target: Asks) -> None:
        """A poll did not find what it asked for. After a while those that will not either take no more work than one:
        they take the same simulated time."""
        self.polls.missed(target)
        if not self.polls.many or self.several_threads():
            return
        with self.lock:
            alike = self.polls.alike(target, self.device.now())
            if alike is not None:
                self.device.pass_polls(*alike)
                self.polls.passed(self.device.now())

    def notify(self) -> None:
        """Something that a thread may wait for has changed outside the device (a generalized
        request ended)."""
        with self.lock:
            if self.order is None:  # else they look for themselves
                self._changed.notify_all()

    def wait(self, target: Waitable) -> None:
        """Block until `target.done`."""
        self.polls.found()
        if target.done:
            return
        with self.lock:
            while not target.done:
                if not self.several_threads():
                    self._sleep(target)
                elif self.order is not None:
                    self._wait_in_turns(target, self.order)
                elif self.level < MULTIPLE:
                    self._sleep(target)
                elif self._pumping:
                    self._changed.wait()
                else:
                    self._pump(target)

    def wait_for(self, operation: Operation, target: Waitable) -> None:
        """Block until one device operation is done; `target` is what waits for it. The short way
        for what happens most."""
        while not operation.done:
            if self._tasks or self._services or (self.level > SINGLE and self.count() > self.usual_threads):
                self.wait(target)
                return
            with self.lock:
                self.device.wait((operation,), target.why())

    def _sleep(self, target: Waitable) -> None:
        if self._tasks or self._services:
            self._advance()
            if target.done:
                return
        operations = list(target.operations())
        if operations:
            for task in (*self._tasks, *self._services):
                operations.extend(task.operations())
        self.device.wait(operations or None, target.why())
        self._advance()

    def _wait_in_turns(self, target: Waitable, order: ThreadOrder) -> None:
        me = threading.get_ident()
        before = self._begun.get(me)  # of a wait in which the program was called back, and waits again
        self._begun[me] = self.device.now()
        try:
            while not target.done and self.several_threads():
                self._wait_in_order(target, order)
        finally:
            del self._begun[me]
            if before is not None:
                self._begun[me] = before

    def _wait_in_order(self, target: Waitable, order: ThreadOrder) -> None:
        may_block = order.wait(target)
        if target.done:
            return
        targets = [target, *order.targets]
        if timed := timed_among(targets):
            alone, since = may_block and len(targets) == 1, max(self._begun.values())
            self._pass(min(one.step(since, alone) for one in timed))
            if len(timed) < len(targets) or not may_block:
                self.device.progress()
                self._advance()
        elif may_block:
            self._sleep(_Several(targets))
        else:
            self._pass(min(step_after(self.device.now() - max(self._begun.values())), LONGEST))
            self.device.progress()
            self._advance()

    def _pass(self, picoseconds: int) -> None:
        if self.pass_time is not None:  # else the device is not a simulator's
            self.pass_time(picoseconds)

    def _pump(self, target: Waitable) -> None:
        self._pumping = True
        try:
            while True:
                self.device.progress()
                self._advance()
                if target.done or not self.several_threads():
                    return
                self._changed.notify_all()
                self._changed.release()
                try:
                    real_time.sleep(PUMP_PAUSE)
                finally:
                    self._changed.acquire()
                if target.done:
                    return
        finally:
            self._pumping = False
            self._changed.notify_all()  # one of them takes over the pump

    def _advance_services(self) -> None:
        for service in self._services:
            service.advance()
        requests = [service.request for service in self._services]
        self._request = requests[0] if len(requests) == 1 else _Any(requests)

    def _advance(self) -> None:
        if self._services:
            self._advance_services()
        if self._tasks:
            # A task that ends may start others through callbacks, so the list is walked as a copy.
            for task in list(self._tasks):
                if task.advance():
                    self._tasks.pop(task, None)
