"""Threads that spin: they run, but do nothing until another thread changes memory (`spinning.c`)."""

from functools import cache
from typing import Any

from ..c_module import load

DECLARED = "int spinning_look(int thread);"


@cache
def _native() -> Any:
    return load(__package__, "spinning", DECLARED)


def spins(thread: int) -> bool:
    """Return whether the thread with this kernel number runs and only waits for memory to change. It
    is interrupted for that, some ten times if it is known to spin."""
    return bool(_native().lib.spinning_look(thread))
