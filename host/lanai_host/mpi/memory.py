"""Memory by address: views, scratch space and moves."""

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..scratch_pool import POOL


def array_at(address: int, count: int, dtype: Any) -> npt.NDArray[Any]:
    """`count` elements at `address` as an array that shares the memory."""
    if not count:
        return np.empty(0, dtype)
    dtype = np.dtype(dtype)
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


class Scratch:
    """Bytes of the library's own, at a fixed `address` as long as this object lives."""

    __slots__ = ("address", "data")

    def __init__(self, size: int) -> None:
        self.data, self.address = POOL.take(max(size, 1))

    @property
    def view(self) -> memoryview:
        """The bytes; they live as long as it."""
        return self.data.data


def zeros(shape: int | tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return an array of the library's own that is sent or received."""
    counts = (shape,) if isinstance(shape, int) else shape
    size = math.prod(counts) * np.dtype(dtype).itemsize
    made: npt.NDArray[Any] = POOL.take(max(size, 1))[0][:size].view(dtype).reshape(counts)
    made.fill(0)
    return made


def array(values: Any, dtype: Any) -> npt.NDArray[Any]:
    """Return such an array of these values."""
    found = np.asarray(values, dtype)
    made = zeros(found.shape, dtype)
    made[...] = found
    return made


def address_of(made: npt.NDArray[Any]) -> int:
    """Return where an array begins."""
    address: int = made.__array_interface__["data"][0]
    return address


def move(target: int, source: int, size: int) -> None:
    """Copy bytes; the ranges may overlap."""
    if size and target != source:
        ctypes.memmove(target, source, size)
