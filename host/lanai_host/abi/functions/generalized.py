"""Generalized requests: the program says when they are complete."""

from typing import Any

from ...mpi.status import Status
from .. import callbacks
from ..binding import bind, binding
from ..context import abi
from ..heap import of_program
from .requests import real


class _Callbacks:
    """The three functions of the program. Fortran's (see `fortran`) get pointers, and give their
    code through the last one."""

    def __init__(self, query: int, free: int, cancel: int, extra: int) -> None:
        self.fortran = False
        self._query, self._free, self._cancel, self._extra = query, free, cancel, extra

    def _call(self, what: str, address: int, *arguments: tuple[str, Any]) -> None:
        """Call with the extra state and the arguments, given as (type, value)."""
        types, values = [kind for kind, _ in arguments], [value for _, value in arguments]
        if self.fortran:
            code = abi.ffi.new("int *")
            passed = [abi.ffi.new("int *", value) if kind == "int" else value for kind, value in arguments]
            form = ", ".join(["intptr_t", *("int *" if kind == "int" else kind for kind in types), "int *"])
            of_program(f"void (*)({form})", address)(self._extra, *passed, code)
            callbacks.check(code[0], what)
        else:
            form = ", ".join(["intptr_t", *types])
            callbacks.check(of_program(f"int (*)({form})", address)(self._extra, *values), what)

    def query(self, status: Status) -> None:
        room = abi.ffi.new("lanai_status *")
        abi.put_status(room, status)
        self._call("query_fn", self._query, ("lanai_status *", room))
        filled = abi.get_status(room)
        status.source, status.tag = filled.source, filled.tag
        status.count, status.cancelled = filled.count, filled.cancelled

    def free(self) -> None:
        self._call("free_fn", self._free)

    def cancel(self, complete: bool) -> None:
        self._call("cancel_fn", self._cancel, ("int", int(complete)))


@binding
def MPI_Grequest_start(query_fn: int, free_fn: int, cancel_fn: int, extra_state: int) -> Any:
    functions = _Callbacks(query_fn, free_fn, cancel_fn, extra_state)
    request = abi.world.start_generalized(functions.query, functions.free, functions.cancel)
    request.callbacks = functions
    return request


bind("MPI_Grequest_complete", lambda request: real("MPI_Grequest_complete", request).complete())
