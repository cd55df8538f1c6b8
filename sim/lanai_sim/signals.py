"""The signals that end a run. This module loads little: what a command does first is here."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

CODE = 130  # the exit code of an interrupted command
SOON = 0.01  # seconds


def interrupted(name: str) -> bytes:
    """Return what an interrupted command of this name says."""
    return f"{name}: interrupted\n".encode()


def speaks() -> bool:
    """Return whether this process tells of its interruption: of the parts of a simulation the first one does."""
    return os.environ.get("PMI_RANK", "0") == "0" or "--parts" not in sys.argv


def end_at_once(name: str) -> None:
    """Have Ctrl-C end this process with one line, until a command takes the signal: nothing is to be tidied up before
    that, and an exception would show where an import was."""

    def end(number: int, frame: object) -> NoReturn:
        if speaks():
            os.write(2, interrupted(name))
        os._exit(CODE)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)


@contextlib.contextmanager
def none_lost() -> Iterator[None]:
    """Have Ctrl-C act again where its exception could not be raised: Python drops what comes while the callback of a
    weak reference runs, as imports have them. Native code that calls Python sees to that itself."""

    def dropped(found: "sys.UnraisableHookArgs") -> None:
        if isinstance(found.exc_value, KeyboardInterrupt) and "ctypes" not in str(found.err_msg):
            threading.Timer(SOON, signal.pthread_kill, (main, signal.SIGINT)).start()
        else:
            hook(found)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    hook, main = sys.unraisablehook, threading.get_ident()
    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook


@contextlib.contextmanager
def signals_to(handler: Callable[[int, object], None] | signal.Handlers) -> Iterator[list[signal.Signals]]:
    """Ctrl-C, SIGTERM and SIGHUP go to `handler`, or do what `SIG_DFL` does, but those that the shell or nohup has us
    ignore. Yields those that do."""
    saved: list[tuple[signal.Signals, Any]] = []
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:
                    saved.append((number, signal.signal(number, handler)))
        yield [number for number, _ in saved]
    finally:
        for taken, before in saved:
            signal.signal(taken, before)
