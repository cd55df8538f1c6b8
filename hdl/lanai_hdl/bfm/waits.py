"""The place where a coroutine waits that does not end."""

import linecache
import os
from collections.abc import Iterator
from types import FrameType
from typing import Any


def waits_of(coroutine: Any) -> Iterator[str]:
    """Describe each frame of a suspended coroutine, from the outermost to the one that waits: its function,
    place and source line."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is None:
            return
        yield _described(frame)
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)


def _described(frame: FrameType) -> str:
    code, line = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, line).strip()
    place = os.path.relpath(code.co_filename)
    if place.startswith(os.pardir):
        place = code.co_filename
    return f"{code.co_qualname.rpartition('<locals>.')[2]}, {place}:{line}: {text}"
