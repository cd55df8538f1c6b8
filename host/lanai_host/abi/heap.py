"""The parts of a rank's heap with `--buffers page`: the program's, and this library's (`in_library.c`).

Where a program's buffers lie in their pages decides what their transfers cost. So they come from a part in which all
that happens is the program's doing.
"""

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..real_time import preloaded
from .context import abi

_SMALL = 1024  # bytes: numpy keeps freed blocks that are smaller
_DIMENSIONS = 4  # and what it needs for arrays of so many dimensions
_KEPT = 7  # of each size
_ASIDE = 2  # a part of neither


class _Heap:
    """`in_library` tells the heap where this thread is, and returns where it was: 1 is in the library."""

    in_library: Callable[[int], int] = staticmethod(lambda inside: 0)
    used_up: ClassVar[list[Any]] = []  # lives as long as the process


def use(library: ctypes.CDLL) -> None:
    """Ask this libmpi."""
    _Heap.in_library = library.lanai_in_library


def of_program(form: str, address: int) -> Callable[..., Any]:
    """Return the program's function at `address`, of the C type `form`. What it allocates is the program's."""
    function = abi.ffi.cast(form, address)

    def call(*arguments: Any) -> Any:
        outer = _Heap.in_library(0)
        try:
            return function(*arguments)
        finally:
            _Heap.in_library(outer)

    return call


def begin() -> None:
    """Give a program in Python a fresh part of the heap, when it begins MPI. The heap that Python's start and imports
    have left depends on the environment. For the same reason the freed blocks that numpy keeps are used up."""
    fresh_part = preloaded("lanai_heap_begin")
    if fresh_part is not None:
        fresh_part.restype = ctypes.c_size_t
        _use_up_blocks_of_numpy(fresh_part())


def _use_up_blocks_of_numpy(new: int) -> None:
    """`new`: blocks from this address on are not numpy's old ones."""
    outer = _Heap.in_library(_ASIDE)
    try:
        for size in range(1, _SMALL):
            while (taken := np.empty(size, np.uint8)).ctypes.data < new:
                _Heap.used_up.append(taken)
    finally:
        _Heap.in_library(outer)
    # The last one of each size has been freed.
    _Heap.used_up += [np.empty(size, np.uint8) for size in range(1, _SMALL)]
    _Heap.used_up += [np.empty((1,) * count) for count in range(2, _DIMENSIONS + 1) for _ in range(_KEPT)]
