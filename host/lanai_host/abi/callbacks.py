"""Functions of the program that the library calls: the codes that they return, and error
handlers."""

from collections.abc import Callable
from typing import Any

from ..mpi.errhandler import Errhandler
from ..mpi.errors import MpiError
from .context import NullFile, abi
from .heap import of_program
from .places import Unborn
from .tables import HandleTable


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
