"""The program's memory, as the library must doubt it: what cannot be reached is an error of one
operation, not the process's end."""

import ctypes
import errno
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from .bus.base import PAGE_SIZE, BusError
from .c_module import load
from .errors import UserError

GUARD_SOURCE = (__package__, "guard")  # its file, for other C parts that use it
GUARD = """
int guard_copy(uintptr_t to, uintptr_t from, uint64_t size);
int guard_put(uintptr_t to, const char *from, uint64_t size);
int guard_get(char *to, uintptr_t from, uint64_t size);
int guard_runs(int packing, uintptr_t stream, uintptr_t memory, int64_t extent, uintptr_t offsets, uintptr_t lengths,
               uint64_t runs, uint64_t first, uint64_t skip, uint64_t total);
int guard_blocks(int packing, uintptr_t stream, uintptr_t memory, uint64_t length, uint32_t depth,
                 const int64_t *turns);
"""
_POPULATE_READ, _POPULATE_WRITE = 22, 23  # of madvise, Linux 5.14


@cache
def _guard() -> Any:
    return load(*GUARD_SOURCE, GUARD)


def memory_file(name: str) -> int:
    """Return an open file that lies in memory and in no folder. Raises UserError if there can be none."""
    try:
        return os.memfd_create(name, os.MFD_CLOEXEC)
    except OSError as error:  # refused in some containers
        refused = error
    for folder in ("/dev/shm", "/tmp"):
        with suppress(OSError):
            return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    raise UserError(f"memfd_create: {refused.strerror}; let processes call it, or mount a writable /dev/shm")


def read(address: int, size: int) -> bytes:
    """The bytes at an address. Raises BusError if they are not all there."""
    copied, guard = bytearray(size), _guard()
    if size and not guard.lib.guard_get(guard.ffi.from_buffer(copied), address, size):
        raise unreadable(address, size)
    return bytes(copied)


def write(address: int, data: bytes) -> None:
    """Write bytes to an address. Raises BusError if not all of it may be written."""
    if not _guard().lib.guard_put(address, data, len(data)):
        raise unwritable(address, len(data))


def address_of(buffer: bytes | bytearray | memoryview) -> int:
    """Return where an object's bytes lie. They stay there as long as the object lives and keeps its
    size."""
    ffi = _guard().ffi
    return int(ffi.cast("uintptr_t", ffi.from_buffer(buffer)))


def copy(to: int, source: int, size: int) -> bool:
    """Copy bytes from address to address. False if not all of them can be read and written."""
    return bool(_guard().lib.guard_copy(to, source, size))


def copy_runs(
    packing: bool, stream: int, memory: int, extent: int, runs: tuple[int, int, int], first: int, skip: int, total: int
) -> bool:
    """Copy `total` bytes between a packed stream and elements, `extent` bytes apart, that consist
    of runs.

    Args:
        packing: to the stream, else from it.
        memory: address of the element where the copy begins, `skip` bytes into its run `first`.
        runs: of an element: how many, the address of their offsets and the address of their lengths
            (64 bits each).

    False if not all of the memory can be reached; part may have been copied.
    """
    count, offsets, lengths = runs
    return bool(_guard().lib.guard_runs(packing, stream, memory, extent, offsets, lengths, count, first, skip, total))


def copy_blocks(packing: bool, stream: int, memory: int, length: int, turns: Sequence[tuple[int, int, int]]) -> bool:
    """Copy blocks of `length` bytes between a packed stream and memory. Each turn, outermost first,
    is how often what is inside it repeats, how far apart in memory and how far apart in the stream.
    As `copy_runs` else."""
    flat = [number for turn in turns for number in turn]
    return bool(_guard().lib.guard_blocks(packing, stream, memory, length, len(turns), flat))


def unreadable(address: int, size: int) -> BusError:
    """The error for memory that a send cannot read."""
    return BusError(f"cannot read the send buffer, {size} bytes at {address:#x}: not all of it is mapped and readable")


def unwritable(address: int, size: int) -> BusError:
    """The error for memory that a receive cannot write."""
    return BusError(
        f"cannot write the receive buffer, {size} bytes at {address:#x}: not all of it is mapped and writable"
    )


def claim(address: int, size: int, writable: bool) -> bool:
    """Let the kernel bring in the pages of a range, as a driver that pins them does. False if it
    may not be read, or written."""
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
