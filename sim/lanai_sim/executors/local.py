"""Workers of this machine. The terminal sends Ctrl-C to all processes of a command, and only the first one tells of
it: the workers end without a word, also while they begin."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

INTERRUPTED = 128 + signal.SIGINT


class LocalPool(ProcessPoolExecutor):
    """Processes that are started when the first task is submitted."""

    def __init__(self, count: int) -> None:
        super().__init__(count, mp_context=get_context("spawn"), initializer=_begin)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes begin with it blocked
        try:
            return super().submit(_work, function, *arguments, **named)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
