"""Memory by address: views, scratch space and copies, for buffers that are given as (address, count, datatype)."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from .constants import BOTTOM, IN_PLACE
from .datatypes import Datatype
from .errors import ErrorClass, MpiError

Bytes = npt.NDArray[np.uint8]


def array_at(address: int, count: int, dtype: Any) -> npt.NDArray[Any]:
    """`count` elements at `address` as an array that shares the memory."""
    if not count:
        return np.empty(0, dtype)
    dtype = np.dtype(dtype)
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


def check_address(call: str, name: str, address: int, count: int, datatype: Datatype) -> None:
    """A buffer with data needs memory: MPI_BOTTOM is an address only where the datatype holds absolute ones."""
    if address == IN_PLACE:
        raise MpiError(ErrorClass.BUFFER, f"{call}: {name} is MPI_IN_PLACE, which is not allowed here")
    if address == BOTTOM and count and datatype.size and datatype.true_lb == 0:
        raise MpiError(ErrorClass.BUFFER, f"{call}: {name} is a null pointer, but the count is {count}")


class Scratch:
    """Bytes of the library's own, at a fixed `address` as long as this object lives."""

    __slots__ = ("address", "data")

    def __init__(self, size: int) -> None:
        self.data: Bytes = np.empty(max(size, 1), np.uint8)
        self.address: int = self.data.__array_interface__["data"][0]


class TypedScratch:
    """Room for `count` elements of `datatype` in their own layout: (address, count, datatype) is a valid buffer."""

    __slots__ = ("_scratch", "address")

    def __init__(self, count: int, datatype: Datatype) -> None:
        size = max(0, count - 1) * abs(datatype.extent) + datatype.true_extent if count else 0
        self._scratch = Scratch(size)
        lowest = datatype.true_lb + (min(0, datatype.extent) * (count - 1) if count else 0)
        self.address = self._scratch.address - lowest


def move(target: int, source: int, size: int) -> None:
    """Copy bytes; the ranges may overlap."""
    if size and target != source:
        ctypes.memmove(target, source, size)


def gather_bytes(address: int, count: int, datatype: Datatype, target: int) -> int:
    """Copy a buffer's bytes, packed, to `target`; the number of bytes."""
    return datatype.pack(address, count, target)


def scatter_bytes(source: int, size: int, address: int, count: int, datatype: Datatype) -> int:
    """Copy at most `size` packed bytes from `source` into a buffer; the number of bytes that found room."""
    return datatype.unpack(source, address, count, 0, size)


def copy_elements(
    source: int, source_count: int, source_type: Datatype, target: int, target_count: int, target_type: Datatype
) -> None:
    """Copy one buffer into another as a message to oneself would; the caller has compared the sizes."""
    size = source_count * source_type.size
    if source_type.dense and target_type.dense:
        move(target + target_type.true_lb, source + source_type.true_lb, min(size, target_count * target_type.size))
    elif source_type.dense:
        scatter_bytes(source + source_type.true_lb, size, target, target_count, target_type)
    elif target_type.dense:
        source_type.pack(source, source_count, target + target_type.true_lb, 0, target_count * target_type.size)
    else:
        packed = Scratch(size)
        gather_bytes(source, source_count, source_type, packed.address)
        scatter_bytes(packed.address, size, target, target_count, target_type)
