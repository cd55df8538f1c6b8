"""The common parts of the calls of the tools interface (MPI_T): handles, null outputs, strings, variables."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ..mpi import session
from ..mpi.added_codes import byte_length
from ..mpi.session import Variable
from .binding import bind
from .context import Phase, abi
from .failures import ToolError

begun = 0  # calls of MPI_T_init_thread without their MPI_T_finalize
_handles: dict[int, Variable] = {}  # of both kinds; a handle is a number that is never given again
sessions: set[int] = set()
numbers = iter(range(1, 1 << 62))


def begin() -> None:
    """MPI_T_init_thread."""
    global begun
    begun += 1


def end() -> None:
    """MPI_T_finalize."""
    global begun
    if not begun:
        raise ToolError("NOT_INITIALIZED")
    begun -= 1


def begun_already() -> None:
    """Raises ToolError before the first MPI_T_init_thread and after the last MPI_T_finalize."""
    if not begun:
        raise ToolError("NOT_INITIALIZED")


def tool(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: bind MPI_T_`name`, which may be called between MPI_T_init_thread and
    MPI_T_finalize."""

    def decorate(function: Callable[..., None]) -> Callable[..., Any]:
        arguments = function.__code__.co_varnames[: function.__code__.co_argcount]

        def call(*values: Any) -> None:
            begun_already()
            function(*values)

        bind(f"MPI_T_{name}", call, " ".join(arguments), always=True)
        return function

    return decorate


def put(pointer: Any, value: int) -> None:
    if pointer:
        pointer[0] = value


def put_address(address: int, value: int) -> None:
    """Write a handle, whose C type is a pointer."""
    if address:
        ctypes.c_size_t.from_address(address).value = value


def put_text(pointer: Any, length: Any, text: str) -> None:
    """Write a text as MPI_T does: `length` is the size of the buffer, and becomes the size that the whole text needs.
    Without a buffer only `length` is set.
    """
    room = length[0] if length else 0
    if pointer and room > 0:
        abi.put_text(pointer, text, room)
    put(length, byte_length(text) + 1)


def control() -> list[Variable]:
    return session.control(abi.world) if abi.phase is Phase.RUNNING else []


def performance() -> list[Variable]:
    return session.performance(abi.world) if abi.phase is Phase.RUNNING else []


def at(found: Sequence[Any], index: int) -> Any:
    if not 0 <= index < len(found):
        raise ToolError("INVALID_INDEX")
    return found[index]


def index_of(found: list[Variable], name: str) -> int:
    for index, variable in enumerate(found):
        if variable.name == name:
            return index
    raise ToolError("INVALID_NAME")


def handle_of(address: int) -> Variable:
    if address not in _handles:
        raise ToolError("INVALID_HANDLE")
    return _handles[address]


def new_handle(variable: Variable, handle: int, count: Any) -> None:
    number = next(numbers)
    _handles[number] = variable
    put_address(handle, number)
    put(count, 1)


def free(handle: int) -> None:
    held = ctypes.c_size_t.from_address(handle)
    handle_of(held.value)
    del _handles[held.value]
    held.value = 0


def read(variable: Variable, buffer: int) -> None:
    ctypes.c_uint64.from_address(buffer).value = variable.read()


def value_type() -> int:
    handle: int = abi.constants["MPI_UINT64_T"]
    return handle


def constant(name: str) -> int:
    value: int = abi.constants[f"MPI_T_{name}"]
    return value
