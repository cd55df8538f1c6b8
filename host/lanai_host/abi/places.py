"""The error handler that is called when a call fails: found from its arguments, by what the prototype
says they are.

The standard names the communicator, window or session that the call was passed, directly or by a
pointer to its handle; the communicator or window of the request or message; the error handler that
a call brings along for the object that it makes. `World.report` finds whose all other errors are,
and those of invalid handles.
"""

from collections.abc import Callable, Collection
from typing import Any

from .arguments import Prototype
from .context import abi

Find = Callable[..., Any]
_OF_FILES = ("MPI_File_", "MPI_Register_datarep")


class Unborn:
    """Stands for the communicator or session that a call was to make."""

    name = ""

    def __init__(self, errhandler: Any) -> None:
        self.errhandler = errhandler


def finder(call: str, parameters: Prototype, inputs: Collection[str]) -> tuple[Find, str]:
    """(function, its arguments) that give the object whose error handler is called, None if no
    argument has one. `inputs`: the arguments that the binding reads, so that pointers to handles among
    them are not outputs."""
    if call.startswith(_OF_FILES):
        return _file_finder(parameters, inputs)
    for base, direct, pointed in _KINDS:
        for name, kind, pointers, _ in parameters:
            if kind == base and pointers == 0:
                return direct, name
            if kind == base and pointers == 1 and name in inputs:
                length = next((p[0] for p in parameters if p[0] in ("count", "incount")), "")
                return (_of_requests, f"{name}, {length}") if name.startswith("array_of") else (pointed, name)
    return _nothing, ""


def _file_finder(parameters: Prototype, inputs: Collection[str]) -> tuple[Find, str]:
    """Return the finder of a call on files. A call without an open file has the error handler of MPI_FILE_NULL."""
    for name, kind, pointers, _ in parameters:
        if kind == "MPI_File" and pointers == 0:
            return _of_file, name
        if kind == "MPI_File" and name in inputs:
            return lambda pointer: _of_file(pointer[0]) if pointer else abi.no_file, name
    return lambda: abi.no_file, ""


def _of_file(handle: int) -> Any:
    return abi.files.get(handle, abi.no_file)


def _nothing() -> None:
    return None


def _at(find: Find) -> Find:
    return lambda pointer: find(pointer[0]) if pointer else None


def _of_comm(handle: int) -> Any:
    return abi.comms.get(handle)


def _of_win(handle: int) -> Any:
    return abi.wins.get(handle)


def _of_session(handle: int) -> Any:
    return abi.sessions.get(handle)


def _of_request(handle: int) -> Any:
    return getattr(abi.requests.get(handle), "place", None)


def _of_message(handle: int) -> Any:
    return getattr(abi.messages.get(handle), "communicator", None)


def _of_errhandler(handle: int) -> Any:
    found = abi.errhandlers.get(handle)
    return None if found is None else Unborn(found)


def _of_requests(pointer: Any, count: int) -> Any:
    """The place of the first request that has one."""
    handles = abi.ffi.unpack(pointer, count) if pointer and count > 0 else []
    return next(filter(None, map(_of_request, handles)), None)


_KINDS = [
    ("MPI_Comm", _of_comm, _at(_of_comm)),
    ("MPI_Win", _of_win, _at(_of_win)),
    ("MPI_Session", _of_session, _at(_of_session)),
    ("MPI_Request", _of_request, _at(_of_request)),
    ("MPI_Message", _of_message, _at(_of_message)),
    ("MPI_Errhandler", _of_errhandler, _at(_of_errhandler)),
]
