"""The place where the program made the MPI call that this thread is in: for reports of a stopped run, looked
for when a rank is about to wait."""

import ctypes
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

from .wait import Wait

BINDING = "<binding of "  # begins the file name of the Python text that C calls for an MPI function
_OWN = os.path.dirname(__file__) + os.sep
_IMPORTS = "<frozen importlib."  # begins the file names of the code that imports modules: a program's `import`
_OUTSIDE = "-"  # what `_Calls` says of a file that is the program's; no name of a function
_native: Callable[[], int] | None = None
_native_frame: Callable[..., int] | None = None


class CallFrame(NamedTuple):
    """The program's own frame at a call: the return address, the stack pointer and the frame pointer."""

    address: int
    stack: int
    base: int


def use_native(library: ctypes.CDLL) -> None:
    """Ask this libmpi for the address from which C or Fortran called it."""
    global _native, _native_frame
    _native = library.lanai_call_site
    _native.restype = ctypes.c_size_t
    _native_frame = library.lanai_call_frame


def call_frame() -> CallFrame | None:
    """Return the frame of compiled code from which this thread's call came; None if it is not known."""
    if _native is None or _native_frame is None:
        return None
    stack, base = ctypes.c_size_t(), ctypes.c_size_t()
    if not _native_frame(ctypes.byref(stack), ctypes.byref(base)):
        return None
    return CallFrame(_native(), stack.value, base.value)


def located(why: Wait) -> Wait:
    """`why` with the program's own call, and the place of it."""
    call, frame = _outside(sys._getframe(1))
    if frame is not None:
        site = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    else:
        address = _native() if _native is not None and call else 0
        site = f"@{address:#x}" if address else ""
    if not call or call == why.call:
        return Wait(*why[:-1], site)  # each wait comes here, and `_replace` takes three times as long
    part = f"for {why.call}" if why.call.startswith("MPI_") else why.call
    note = why.note if why.call in why.note else ", ".join(filter(None, [part, why.note]))
    return why._replace(call=call, site=site, note=note)


def _outside(frame: FrameType | None) -> tuple[str, FrameType | None]:
    """The MPI function that the program called last, and the frame of the program that did, if it
    is Python's."""
    call = ""
    while frame is not None:
        found = _calls[frame.f_code.co_filename]
        if found == _OUTSIDE:
            if call:
                return call, frame
        elif found:
            call = found
        frame = frame.f_back
    return call, None


def here() -> str:
    """The place of the program's call that this thread is in, as `Wait.site` has it; empty outside of
    MPI's functions."""
    return located(Wait("")).site


def caller(frame: FrameType | None) -> str:
    """Return the place of the program's call that leads to `frame`, as `Wait.site` has it; empty if it
    is not known."""
    while frame is not None:
        if _calls[frame.f_code.co_filename] == _OUTSIDE:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    address = _native() if _native is not None else 0
    return f"@{address:#x}" if address else ""


def is_program(file: str) -> bool:
    """Python code of this file is the program's, and not this library's."""
    return _calls[file] == _OUTSIDE


class _Calls(dict[str, str]):
    """By file name: the MPI function whose binding it is, `_OUTSIDE`, or nothing for this
    library's own files and for Python's import. Each wait asks for the same few names."""

    def __missing__(self, name: str) -> str:
        if name.startswith(BINDING):
            found = name[len(BINDING) : -1].removesuffix("_c")
        else:
            found = "" if name.startswith((_OWN, _IMPORTS)) else _OUTSIDE
        self[name] = found
        return found


_calls = _Calls()
