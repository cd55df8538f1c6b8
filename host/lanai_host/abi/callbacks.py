"""Functions of the program that the library calls: the codes that they return, and error handlers."""

from typing import Any

from ..mpi.errhandler import Errhandler
from ..mpi.errors import MpiError
from .context import NullFile, abi
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


def errhandler(address: int, table: HandleTable) -> Errhandler:
    """The error handler that is a function at `address`, for objects whose handles are in `table`."""
    handle = abi.flavor.handle(f"MPI_{table.kind}")
    call = abi.ffi.cast(f"void (*)({handle} *, int *)", address)

    def report(place: Any, code: int) -> None:
        value = table.null if isinstance(place, Unborn | NullFile) else table.handle_of(place)
        call(abi.ffi.new(f"{handle} *", value), abi.ffi.new("int *", abi.code_out(code)))

    return Errhandler("user", report)


def handle_type() -> str:
    """The C type of a handle that callbacks take."""
    return "intptr_t" if abi.flavor.wide else "int"
