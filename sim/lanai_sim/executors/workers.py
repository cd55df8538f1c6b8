"""Tasks handed to workers, and what is said when one is lost."""

import contextlib
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

from lanai_host.errors import UserError

from .. import sources
from ..units import counted
from .kinds import LocalPool, executor
from .place import NO_LIMIT, Place

# The work of a worker: one run, within its time, by the same code as the process that asks for it.


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
            "--limit needs workers that run tasks in their main thread, as local and mpi do; leave it out with an "
            "executor of threads, and with Dask"
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


ITEM = TypeVar("ITEM")
RESULT = TypeVar("RESULT")
LOCAL = Place()


class TookTooLong(UserError):
    """A run was ended at its limit of real time."""


class Workers:
    """Calls a function for items, in workers that are started when the first one is needed."""

    def __init__(self, function: Callable[[Any], Any], place: Place, count: int) -> None:
        self._place = place
        self._task = Task(function, sources.digest(), place.limit)
        self._count = count
        self._pool: Executor | None = None
        self._futures: list[Future[Ended]] = []
        self.ended = 0

    def here(self, item: Any) -> Any:
        """Call the function in this process."""
        return self._value(self._task.call(item))

    def submit(self, item: Any) -> "Future[Ended]":
        """Hand an item to a worker."""
        if self._pool is None:
            self._pool = executor(self._place, self._count)
        try:
            future = self._pool.submit(self._task, item)
        except Exception as error:
            if not self._of_executor(error):
                raise
            raise self._lost(error) from error
        self._futures.append(future)
        return future

    def result(self, future: "Future[Ended]") -> Any:
        """Return what the function has returned. Raises UserError."""
        try:
            ended = future.result()
        except (ImportError, AttributeError) as error:
            raise UserError(
                f"a worker cannot load what it shall run ({error}); install one version everywhere"
            ) from error
        except Exception as error:
            if not self._of_executor(error):
                raise
            raise self._lost(error) from error
        return self._value(ended)

    def _of_executor(self, error: Exception) -> bool:
        """Return whether the executor raised this because of its workers. Else the run raised it. Executors of other
        packages have exceptions of their own, such as Dask's KilledWorker."""
        theirs, raised, own = (name.partition(".")[0] for name in (*map(_module, (self._pool, error)), __name__))
        return isinstance(error, BrokenExecutor | CancelledError) or raised == theirs != own

    def _value(self, ended: Ended) -> Any:
        if ended.way is Way.OTHER_CODE:
            raise UserError(f"a worker has another version of openlanai: {ended.value}; install one version everywhere")
        if ended.way is Way.TOO_LONG:
            raise TookTooLong(f"it took more than --limit {self._place.limit:g} s")
        if ended.way is Way.REFUSED:
            raise UserError(ended.value)
        self.ended += 1
        return ended.value

    def _lost(self, error: BaseException) -> UserError:
        """Return what is told of a worker that has died."""
        more = str(error).partition("\n")[0] if str(error).startswith("job ") else "killed, or out of memory?"
        kept = (
            f"{self._place.journal} keeps these, and the same command goes on from there" if self._place.journal else ""
        )
        return UserError(
            f"a worker has died ({more}); {self.ended} of {counted(self._count, 'run')} had ended"
            + (f"; {kept}" if kept else "")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the workers. Runs that have begun end first, unless the command was interrupted."""
        if self._pool is not None:
            if isinstance(self._pool, LocalPool) and isinstance(sys.exception(), KeyboardInterrupt):
                self._pool.interrupt()
            for future in self._futures:
                future.cancel()
            self._pool.shutdown()  # of which Dask's has no `cancel_futures`


def _module(thing: object) -> str:
    return type(thing).__module__


def each(
    function: Callable[[ITEM], RESULT],
    items: Sequence[ITEM],
    place: Place = LOCAL,
    name: Callable[[ITEM], str] = str,
) -> Iterator[tuple[ITEM, RESULT]]:
    """Give every item with what `function` makes of it, as they become ready. A single one, or with one job, is made in
    this process. Those that take too long are told by `name` when all others have ended: UserError."""
    late: list[str] = []
    with Workers(function, place, len(items)) as workers:
        for item, get in _in_turn(workers, items, place):
            try:
                found = get()
            except TookTooLong:
                late.append(name(item))
                continue
            yield item, found
    if late:
        kept = f"; {place.journal} keeps the others" if place.journal else ""
        named = "; ".join(late[:3]) + ("; ..." if len(late) > 3 else "")
        raise UserError(
            f"{len(late)} of {counted(len(items), 'run')} took more than --limit {place.limit:g} s: {named}{kept}"
        )


def _in_turn(workers: Workers, items: Sequence[ITEM], place: Place) -> Iterator[tuple[ITEM, Callable[[], Any]]]:
    """Give each item with what gives its result, in the order in which they end."""
    if place.here(len(items)):
        for item in items:
            yield item, lambda item=item: workers.here(item)  # type: ignore[misc]
        return
    waiting = {workers.submit(item): item for item in items}
    for future in as_completed(waiting):
        yield waiting[future], lambda future=future: workers.result(future)  # type: ignore[misc]
