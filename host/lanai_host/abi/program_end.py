"""The end of a Python program, as far as it is known when MPI ends with it."""

import os
import sys
import sysconfig
import threading
import traceback
from functools import cache

from ..source_lines import is_program


def error() -> str | None:
    """The error by which the program ends, as "ValueError at app.py:12"; empty if no error is known;
    None if the program does not end now.

    A program ends when Python does, and may end when an exception passes the place that ends MPI.
    """
    passing = sys.exc_info()[1]
    if passing is not None:
        return _describe(passing)
    if threading.main_thread().is_alive():
        return None
    last = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)  # what Python has printed
    return "" if last is None else _describe(last)


def _describe(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return ""  # the exit code says it
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename)] or frames
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    if not own:
        return name
    return f"{name} at {own[-1].filename.removeprefix(os.getcwd() + os.sep)}:{own[-1].lineno}"


def _is_own(file: str) -> bool:
    """A file of the program, and not of Python's, of a package's or of this library's."""
    if file.startswith("<"):
        return is_program(file) and not file.startswith("<frozen ")
    return is_program(file) and os.path.exists(file) and not os.path.realpath(file).startswith(_installed())


@cache
def _installed() -> tuple[str, ...]:
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(os.path.realpath(path) + os.sep for path in paths)
