"""Progress: the one place that lets a device work, moves collective schedules on, and blocks.

All calls into the device are made under `Progress.lock`, so devices need not be thread-safe. While the process has one
thread, a blocking call sleeps inside the device (and the simulation may move, and may find a deadlock). With several
threads (MPI_THREAD_MULTIPLE) one waiting thread pumps the device and the others sleep on a condition variable; the pump
looks and lets go of the lock in turns, because another thread's send may be what it waits for.
"""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from ..bus import Wait
from ..device import Device, Operation
from .constants import ThreadLevel

PUMP_PAUSE = 20e-6  # seconds that a pumping thread leaves the lock and the interpreter to the others


class Waitable(Protocol):
    """What a thread can wait for."""

    @property
    def done(self) -> bool: ...

    def operations(self) -> list[Operation]:
        """Device operations of which one at least must end before `done` can change; none if unknown."""

    def why(self) -> Wait:
        """What a deadlock report says."""


class Task(Protocol):
    """Background work, such as a collective's schedule."""

    def advance(self) -> bool:
        """Go on as far as ended operations allow; True when finished."""

    def operations(self) -> list[Operation]: ...


def _tasks_of_process() -> int:
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[17])
    except OSError:  # no /proc: count what Python knows
        return threading.active_count()


class Progress:
    """`level` is the thread level granted. `foreign_threads` says that threads may exist which Python did not start
    (a C program), so that they are counted with the kernel."""

    def __init__(self, device: Device, foreign_threads: bool = False) -> None:
        self.device = device
        self.level = ThreadLevel.SINGLE
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._tasks: list[Task] = []
        self._pumping = False
        self._count: Callable[[], int] = _tasks_of_process if foreign_threads else threading.active_count
        self._usual_threads = self._count() if foreign_threads else 1

    def start(self, task: Task) -> None:
        """Run a task now as far as it goes, and later whenever anything makes progress."""
        with self.lock:
            if not task.advance():
                self._tasks.append(task)

    def poll(self) -> None:
        """Look once, without blocking."""
        with self.lock:
            self.device.progress()
            self._advance()

    def notify(self) -> None:
        """Something that a thread may wait for has changed outside the device (a generalized request ended)."""
        with self.lock:
            self._changed.notify_all()

    def wait(self, target: Waitable) -> None:
        """Block until `target.done`."""
        if target.done:
            return
        with self.lock:
            while not target.done:
                if self._alone():
                    self._sleep(target)
                elif self._pumping:
                    self._changed.wait()
                else:
                    self._pump(target)

    def _sleep(self, target: Waitable) -> None:
        if self._tasks:
            self._advance()
            if target.done:
                return
        operations = target.operations()
        if operations:
            for task in self._tasks:
                operations = operations + task.operations()
        self.device.wait(operations or None, target.why())
        self._advance()

    def _pump(self, target: Waitable) -> None:
        self._pumping = True
        try:
            while True:
                self.device.progress()
                self._advance()
                if target.done or self._alone():
                    return
                self._changed.notify_all()
                self._changed.release()
                try:
                    time.sleep(PUMP_PAUSE)
                finally:
                    self._changed.acquire()
                if target.done:
                    return
        finally:
            self._pumping = False
            self._changed.notify_all()  # one of them takes over the pump

    def _advance(self) -> None:
        if self._tasks:
            # A task that ends may start others through callbacks, so the list is walked as a copy.
            for task in list(self._tasks):
                if task.advance():
                    self._tasks.remove(task)

    def _alone(self) -> bool:
        return self.level < ThreadLevel.MULTIPLE or self._count() <= self._usual_threads
