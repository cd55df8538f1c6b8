"""The computer's time for the library's own use, whatever the clocks of this process show."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

LIBRARY = "libc.so.6"
CLOCK_MONOTONIC = 1


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]  # ctypes asks for it


@cache
def _libc() -> Any:
    """The C library's own functions, not those that were loaded before it."""
    return ctypes.CDLL(LIBRARY, use_errno=True)


def monotonic() -> float:
    """Return seconds since some moment."""
    time = _Timespec()
    _libc().clock_gettime(CLOCK_MONOTONIC, ctypes.byref(time))
    return float(time.seconds + 1e-9 * time.nanoseconds)


def sleep(seconds: float) -> None:
    """Let other threads and processes run for so long."""
    time = _Timespec(int(seconds), int(1e9 * (seconds % 1)))
    _libc().nanosleep(ctypes.byref(time), None)


def preloaded(name: str) -> Any:
    """Return a function of a library that was loaded before the program; None if it was not."""
    try:
        return ctypes.CDLL(None)[name]
    except (AttributeError, UnicodeDecodeError):  # ctypes quotes the program's path, which may be no text
        return None


@cache
def _switch() -> Any:
    """Return the function that makes the clocks of this thread real. It does nothing if they are not simulated."""
    return preloaded("lanai_clocks_real") or (lambda begins: None)


@contextmanager
def shown() -> Iterator[None]:
    """All clocks show the computer's time meanwhile, for this thread."""
    _switch()(1)
    try:
        yield
    finally:
        _switch()(-1)
