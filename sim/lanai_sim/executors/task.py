"""The work of a worker: one run, within its time, by the same code as the process that asks for it."""

import contextlib
import platform
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from lanai_host.errors import UserError

from .. import sources
from .place import NO_LIMIT


class Way(Enum):
    """The end of a task."""

    RESULT = "result"
    REFUSED = "refused"  # a UserError; the value is its text
    TOO_LONG = "too long"
    OTHER_CODE = "other code"  # the worker has another version; the value says which


@dataclass(frozen=True)
class Ended:
    """A task that has ended. Exceptions travel as values, as some clusters return their text alone."""

    way: Way
    value: Any = None


class _TimeOver(BaseException):
    """Nobody catches it but `Task`."""


@dataclass(frozen=True)
class Task:
    """Calls a function in a worker, which may be on another machine.

    Attributes:
        code: the digest of the sources that the caller runs.
        limit: seconds.
    """

    function: Callable[[Any], Any]
    code: str
    limit: float = NO_LIMIT

    def __call__(self, item: Any) -> Ended:
        if _code() != self.code:
            return Ended(Way.OTHER_CODE, f"{platform.node()} has sources {_code()}, and this process {self.code}")
        return self.call(item)

    def call(self, item: Any) -> Ended:
        """Call the function, by whatever code this process runs."""
        try:
            with _limited(self.limit):
                return Ended(Way.RESULT, self.function(item))
        except _TimeOver:
            return Ended(Way.TOO_LONG)
        except UserError as error:
            return Ended(Way.REFUSED, str(error))


@cache
def _code() -> str:
    """Return the digest of the sources, as they were when this process first asked."""
    return sources.digest()


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise _TimeOver after so many seconds of real time."""
    if seconds == NO_LIMIT:
        yield
        return
    if threading.current_thread() is not threading.main_thread():
        raise UserError(
            "--limit needs workers that run tasks in their main thread, as local, slurm and mpi do; leave it out with "
            "an executor of threads, and with Dask"
        )
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: object) -> None:
    raise _TimeOver
