"""Workers of this machine. The terminal sends Ctrl-C to all processes of a command, and only the first one tells of
it: the workers end without a word, also while they begin."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

INTERRUPTED = 128 + signal.SIGINT


class LocalPool(ProcessPoolExecutor):
    """Processes that are started when the first task is submitted."""

    def __init__(self, count: int) -> None:
        super().__init__(count, mp_context=get_context("spawn"), initializer=_begin)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        with _held_back():
            return super().submit(_work, function, *arguments, **named)


@contextmanager
def _held_back() -> Iterator[None]:
    """Let Ctrl-C take effect afterwards: a process that is started reads from this one what it needs.

    It is blocked, also in the processes. That is not enough here: another thread may take it, and Python
    interrupts the main one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
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


def _begin() -> None:
    """Take Ctrl-C from here on, also one that has come since the process was started."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _work(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    _Worker.works = True
    try:
        return function(*arguments, **named)
    finally:
        _Worker.works = False


def _interrupted(number: int, frame: object) -> None:
    """A task may have to clean up."""
    if _Worker.works:
        raise KeyboardInterrupt
    os._exit(INTERRUPTED)
