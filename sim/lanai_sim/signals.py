"""The signals that end a run."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def signals_to(handler: Callable[[int, object], None] | signal.Handlers) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP go to `handler`, or do what `SIG_DFL` does, but those that the shell or nohup has us
    ignore."""
    saved: list[tuple[signal.Signals, Any]] = []
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:
                    saved.append((number, signal.signal(number, handler)))
        yield
    finally:
        for taken, before in saved:
            signal.signal(taken, before)
