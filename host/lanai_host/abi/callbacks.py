"""Functions of the program that the library calls: the codes that they return, and error
handlers."""

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..mpi.attributes import Errhandler
from ..mpi.errors import MpiError
from ..real_time import preloaded
from .context import NullFile, abi
from .places import Unborn
from .tables import HandleTable

# The parts of a rank's heap with `--buffers page`: the program's, and this library's (`in_library.c`).
#
# Where a program's buffers lie in their pages decides what their transfers cost. So they come from
# a part in which all that happens is the program's doing.

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


def check(code: int, what: str) -> None:
    """A callback that fails makes the call fail with the code that it returned."""
    if code:
        raise with_code(abi.code_in(code), f"{what} returned {code}")


def with_code(code: int, text: str = "") -> MpiError:
    """The error of a code that the program gave."""
    error = MpiError(abi.world.errors.error_class(code), text or abi.world.errors.text(code))
    error.code = code
    return error


_CXX_KINDS = ("Comm", "File", "Win")  # as the C++ bindings number them


class Reporter:
    """The program's error handler: a function at `address`, for objects whose handles are in
    `table`."""

    def __init__(self, address: int, table: HandleTable) -> None:
        self.address, self.table = address, table
        self._handle = abi.flavor.handle(f"MPI_{table.kind}")
        self._call = of_program(f"void (*)({self._handle} *, int *)", address)

    def __call__(self, place: Any, code: int) -> int:
        handle, changed = self.arguments(place, code)
        self._call(handle, changed)
        return _changed(code, changed)

    def arguments(self, place: Any, code: int) -> tuple[Any, Any]:
        """Pointers to the object's handle and to the code."""
        value = self.table.null if isinstance(place, Unborn | NullFile) else self.table.handle_of(place)
        return abi.ffi.new(f"{self._handle} *", value), abi.ffi.new("int *", abi.code_out(code))

    def through_cxx(self, call_function: int) -> Callable[[Any, int], int]:
        """The same for a C++ function, which the C++ bindings' own function calls."""
        through = of_program("void (*)(int, void *, int *, intptr_t)", call_function)
        kind = _CXX_KINDS.index(self.table.kind)

        def call(place: Any, code: int) -> int:
            handle, changed = self.arguments(place, code)
            through(kind, handle, changed, self.address)
            return _changed(code, changed)

        return call


def _changed(code: int, pointer: Any) -> int:
    """The code that a handler left at `pointer`, where `code` was."""
    return code if pointer[0] == abi.code_out(code) else abi.code_in(pointer[0])


def errhandler(address: int, table: HandleTable) -> Errhandler:
    """The error handler that is a function at `address`, for objects whose handles are in
    `table`."""
    return Errhandler("user", Reporter(address, table))


def handle_type() -> str:
    """The C type of a handle that callbacks take."""
    return "intptr_t" if abi.flavor.wide else "int"
