"""Memory by address: views, scratch space and moves."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


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
        self.data: Bytes = np.empty(max(size, 1), np.uint8)
        self.address: int = self.data.__array_interface__["data"][0]

    @property
    def view(self) -> memoryview:
        """The bytes; they live as long as it."""
        return self.data.data


def move(target: int, source: int, size: int) -> None:
    """Copy bytes; the ranges may overlap."""
    if size and target != source:
        ctypes.memmove(target, source, size)
