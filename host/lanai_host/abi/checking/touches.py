"""Loads and stores of a program that `lanai mpicc --check` made, of the memory that is watched: what
`touches.c` keeps between two MPI calls."""

import ctypes
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ... import process_memory
from ...bus.base import BusError
from .places import program_place

MOST_RANGES, MOST_TOUCHES, TOLD_CALLS = 512, 4096, 6
FREES = 2
HEADER, MAPPED, FLAGS = 8, 2, 7  # of glibc's blocks: bytes before one that hold its size, and bits there
PAGE_HEAP, PAGE_HEAP_END = 0x200000000000, 0x200400000000  # of `--buffers page`, whose blocks are powers of two
LEAST_BLOCK = 16
SLACK, MAPPED_SLACK = 64, 1 << 13  # bytes that a block may have beyond those that were asked for


class _Range(ctypes.Structure):
    _fields_ = (("begin", ctypes.c_size_t), ("end", ctypes.c_size_t))


class _Touch(ctypes.Structure):
    _fields_ = (
        *_Range._fields_,
        ("caller", ctypes.c_size_t),
        ("does", ctypes.c_uint64),
        ("callers", ctypes.c_size_t * TOLD_CALLS),
    )


class _Watch(ctypes.Structure):
    _fields_ = (
        ("low", ctypes.c_size_t),
        ("high", ctypes.c_size_t),
        ("ranges", ctypes.c_uint64),
        ("touches", ctypes.c_uint64),
        ("lost", ctypes.c_uint64),
        ("range", _Range * MOST_RANGES),
        ("touch", _Touch * MOST_TOUCHES),
    )


class Touch(NamedTuple):
    """An access of the program's own code to addresses from `begin` to before `end`. `frees`: the memory is given
    back."""

    begin: int
    end: int
    writes: bool
    frees: bool
    place: str


class Touches:
    """`seen` is false for a program that was compiled without `--check`."""

    def __init__(self) -> None:
        self._block_of: Callable[..., int] | None = None
        try:
            self._watch: _Watch | None = _Watch.in_dll(ctypes.CDLL(None), "lanai_touched_2")
        except ValueError:
            self._watch = None
            return
        self._block_of = getattr(ctypes.CDLL(None), "lanai_block_of", None)

    @property
    def seen(self) -> bool:
        return self._watch is not None

    def watch(self, regions: Iterable[tuple[int, int]]) -> None:
        """From now on keep accesses to these regions, as many as there is room for."""
        watch = self._watch
        if watch is None:
            return
        chosen = list(regions)[:MOST_RANGES]
        for index, (begin, end) in enumerate(chosen):
            watch.range[index].begin, watch.range[index].end = begin, end
        watch.ranges = len(chosen)
        watch.low = min((begin for begin, _ in chosen), default=0)
        watch.high = max((end for _, end in chosen), default=0)

    def take(self) -> list[Touch]:
        """Return what was kept, and keep nothing until `watch`."""
        watch = self._watch
        if watch is None:
            return []
        watch.low = watch.high = 0
        found = [
            Touch(one.begin, one.end, one.does > 0, one.does == FREES, program_place([one.caller, *one.callers]))
            for one in watch.touch[: watch.touches]
        ]
        watch.touches = 0
        return found

    def block_of(self, address: int) -> tuple[int, int] | None:
        """Return the memory of `malloc`, or the like, that holds an address; None if it is not known. What a library
        has freed is known no more if something else lies there by now."""
        begin, end = ctypes.c_size_t(), ctypes.c_size_t()
        if self._block_of is None or not self._block_of(
            ctypes.c_size_t(address), ctypes.byref(begin), ctypes.byref(end)
        ):
            return None
        return (begin.value, end.value) if _is_there(begin.value, end.value - begin.value) else None


def _is_there(begin: int, size: int) -> bool:
    """Return if the heap still has a block for so many bytes at an address."""
    if PAGE_HEAP <= begin < PAGE_HEAP_END:
        usable = ctypes.CDLL(None).malloc_usable_size(ctypes.c_void_p(begin))
        return bool(usable == max(LEAST_BLOCK, 1 << (size - 1).bit_length()))
    try:
        header = int.from_bytes(process_memory.read(begin - HEADER, HEADER), "little")
    except BusError:
        return False
    usable = (header & ~FLAGS) - (2 * HEADER if header & MAPPED else HEADER)
    return 0 <= usable - size <= (MAPPED_SLACK if header & MAPPED else SLACK)
