"""Loads and stores of a program that `lanai mpicc --check` made, of the memory that is watched: what
`touches.c` keeps between two MPI calls."""

import ast
import ctypes
import itertools
import linecache
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import CodeType
from typing import NamedTuple

from ... import process_memory, source_lines
from ...bus.base import BusError
from ...source_lines import in_system_header, place_of

# The place of a call in the program: the source line of the MPI call that this thread is about to make, and what
# Python calls there.


_known: dict[str, str] = {}


def place() -> str:
    """Return file and line; empty if they are not known."""
    site = source_lines.caller(sys._getframe(1))
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site) if site else ""
    return found


def python_call() -> str:
    """Return the method of mpi4py that the program calls now, as its source names it, such as `comm.recv`; empty if
    the program is not Python or calls another function there."""
    frame = sys._getframe(1)
    while not source_lines.is_program(frame.f_code.co_filename):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return _called(frame.f_code, frame.f_lasti)


LONGEST = 30  # name of a call


@cache
def _called(code: CodeType, instruction: int) -> str:
    line, end_line, column, end_column = next(itertools.islice(code.co_positions(), instruction // 2, None))
    if line is None or end_line is None:
        return ""
    lines = [text.encode() for text in linecache.getlines(code.co_filename)[line - 1 : end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end_column]
    try:
        found = ast.parse(b"(" + b"".join(lines)[column:] + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    name = found.func if isinstance(found, ast.Call) else found
    if not isinstance(name, ast.Attribute) or name.attr not in _of_mpi4py():
        return ""
    text = ast.unparse(name)
    return text if len(text) <= LONGEST else name.attr


@cache
def _of_mpi4py() -> frozenset[str]:
    """Return the names of all methods and attributes of mpi4py's objects."""
    values = vars(sys.modules.get("mpi4py.MPI", object))
    return frozenset(values).union(*(dir(value) for value in values.values() if isinstance(value, type)))


def program_place(addresses: Sequence[int]) -> str:
    """Return file and line of the instruction before the first of these addresses that is not in a header of the
    system, such as those of C++'s library; of the first if all are. 0 is after the last."""
    sites = [f"@{address:#x}" for address in addresses if address]
    return _place_at(next((site for site in sites if not _of_system(site)), sites[0]))


def _place_at(site: str) -> str:
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site)
    return found


@cache
def _of_system(site: str) -> bool:
    return in_system_header(os.getpid(), site)


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
