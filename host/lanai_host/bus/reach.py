"""The program's memory, as the library must doubt it: what cannot be reached is an error of one operation, not the process's end."""

import ctypes
import errno
import mmap
from functools import cache
from typing import Any

from ..native import load
from .base import PAGE_SIZE, BusError

GUARD_SOURCE = (__package__, "guard")  # its file, for other C parts that use it
GUARD = """
int guard_copy(uintptr_t to, uintptr_t from, uint64_t size);
int guard_put(uintptr_t to, const char *from, uint64_t size);
"""
_POPULATE_READ, _POPULATE_WRITE = 22, 23  # of madvise, Linux 5.14


@cache
def _guard() -> Any:
    return load(*GUARD_SOURCE, GUARD)


def read(address: int, size: int) -> bytes:
    """The bytes at an address. Raises BusError if they are not all there."""
    made = _guard()
    copy = bytearray(size)
    if size and not made.lib.guard_copy(int(made.ffi.cast("uintptr_t", made.ffi.from_buffer(copy))), address, size):
        raise unreadable(address, size)
    return bytes(copy)


def write(address: int, data: bytes) -> None:
    """Write bytes to an address. Raises BusError if not all of it may be written."""
    if not _guard().lib.guard_put(address, data, len(data)):
        raise unwritable(address, len(data))


def unreadable(address: int, size: int) -> BusError:
    """The error for memory that a send cannot read."""
    return BusError(f"cannot read the send buffer, {size} bytes at {address:#x}: not all of it is mapped and readable")


def unwritable(address: int, size: int) -> BusError:
    """The error for memory that a receive cannot write."""
    return BusError(
        f"cannot write the receive buffer, {size} bytes at {address:#x}: not all of it is mapped and writable"
    )


def claim(address: int, size: int, writable: bool) -> bool:
    """Let the kernel bring in the pages of a range, as a driver that pins them does. False if it may not be read, or written."""
    if not _populates():
        return True
    first = address & -PAGE_SIZE
    return _advise(first, address + size - first, _POPULATE_WRITE if writable else _POPULATE_READ) in (0, errno.EINTR)


@cache
def _populates() -> bool:
    """Does this kernel know how? Older ones and some sandboxes do not; then the NIC finds out."""
    with mmap.mmap(-1, PAGE_SIZE) as page:
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        return _advise(address, PAGE_SIZE, _POPULATE_WRITE) == 0 and _advise(address, PAGE_SIZE, _POPULATE_READ) == 0


def _advise(address: int, size: int, advice: int) -> int:
    """0, or the error number."""
    failed = _libc().madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), advice)
    return ctypes.get_errno() if failed else 0


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
