"""The `concurrent.futures.Executor` of a place."""

import contextlib
import importlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any

from lanai_host.errors import UserError

from ..signals import CODE
from .place import LOCAL, MPI, Place

# Workers of this machine. The terminal sends Ctrl-C to all processes of a command, and only the first one tells of
# it: the workers end without a word, also while they begin. A signal that only the first one gets is passed on.


STOP = signal.SIGUSR1  # to a worker: end the run
SAFE_PATH = "PYTHONSAFEPATH"  # to a worker that begins: import nothing from the current folder


class LocalPool(ProcessPoolExecutor):
    """Processes that are started when the first task is submitted."""

    def __init__(self, count: int) -> None:
        own = os.environ.get(SAFE_PATH)
        with _set(SAFE_PATH, "1"):
            super().__init__(count, mp_context=get_context("spawn"), initializer=_begin, initargs=(own,))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        with _held_back(), _set(SAFE_PATH, "1"):
            return super().submit(_work, function, *arguments, **named)

    def interrupt(self) -> None:
        """End the runs of all workers, and those that a worker would begin."""
        for number in list(self._processes or ()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, STOP)


def _change(variable: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(variable, None)
    else:
        os.environ[variable] = value


@contextlib.contextmanager
def _set(variable: str, value: str) -> Iterator[None]:
    """Give processes that are started meanwhile an environment variable."""
    before = os.environ.get(variable)
    _change(variable, value)
    try:
        yield
    finally:
        _change(variable, before)


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Let Ctrl-C take effect afterwards: a process that is started reads from this one what it needs.

    It is blocked, also in the processes. That is not enough here: another thread may take it, and Python
    interrupts the main one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, STOP})
    handler = signal.getsignal(signal.SIGINT)
    holds = callable(handler) and threading.current_thread() is threading.main_thread()
    came: list[int] = []
    if holds:
        signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        if holds:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(signal.SIGINT)


class _Worker:
    """This process."""

    works = False
    over = False  # it was interrupted; the pool may have given it one more run already


def _begin(safe_path: str | None) -> None:
    """Take Ctrl-C from here on, also one that has come since the process was started. Ranks get `safe_path`, as the
    command has it."""
    _change(SAFE_PATH, safe_path)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupted)
    signal.signal(STOP, _stopped)
    threading.Thread(target=_end_with, args=(parent_process(),), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, STOP})


def _end_with(parent: Any) -> None:
    """End this worker when the command is killed: each worker has both ends of the pipe of tasks, and would wait for
    the next one for ever."""
    parent.join()
    os._exit(CODE)


def _work(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    _Worker.works = True
    try:
        if _Worker.over:
            raise KeyboardInterrupt
        return function(*arguments, **named)
    finally:
        _Worker.works = False


def _interrupted(number: int, frame: object) -> None:
    """A task may have to clean up."""
    _Worker.over = True
    if _Worker.works:
        raise KeyboardInterrupt
    os._exit(CODE)


def _stopped(number: int, frame: object) -> None:
    """Interrupt the run, unless Ctrl-C has."""
    before, _Worker.over = _Worker.over, True
    if _Worker.works and not before:
        raise KeyboardInterrupt


def executor(place: Place, count: int) -> Executor:
    """Return workers for so many runs. Raises UserError if there are none to be had."""
    if place.on == LOCAL:
        try:
            return LocalPool(min(place.count, max(count, 1)))
        except (ImportError, OSError) as error:
            raise UserError(
                f"no processes can share work here ({error}): they need a writable /dev/shm; mount it or write --jobs 1"
            ) from error
    if place.on == MPI:
        return _mpi()
    return _called(place.on)


def _mpi() -> Executor:
    """Return the other ranks of the MPI job that this process is rank 0 of."""
    if "mpi4py.run" not in sys.modules:  # MPI would wait for ranks that have ended, as those that share a journal
        raise _no_workers()
    try:
        from mpi4py import MPI as mpi
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"--on mpi needs mpi4py and an MPI library ({error}); pip install 'openlanai[mpi4py]'"
        ) from error
    if mpi.COMM_WORLD.size < 2:
        raise _no_workers()
    pool: Any = MPIPoolExecutor()
    return pool  # type: ignore[no-any-return]


def _no_workers() -> UserError:
    return UserError(
        "--on mpi takes the ranks of an MPI job as workers, and there is none here; start it as: "
        f"mpiexec -n 5 python -m mpi4py.futures -m lanai_sim {shlex.join(sys.argv[1:])}"
    )


def _called(name: str) -> Executor:
    """Return what a user's function gives, such as Dask's `Client().get_executor`."""
    module, _, callable_ = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` has it
    try:
        made = importlib.import_module(module)
        for part in callable_.split("."):
            made = getattr(made, part)
        found = made()  # type: ignore[operator]
    except Exception as error:
        raise UserError(f"--on {name!r} gives no executor: {type(error).__name__}: {error}") from error
    if not isinstance(found, Executor):
        raise UserError(
            f"--on {name!r} gives an object of type {type(found).__name__}; it must give a concurrent.futures.Executor"
        )
    return found
