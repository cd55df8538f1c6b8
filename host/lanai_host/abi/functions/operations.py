"""Reduction operations of the program, and reductions without communication."""

from collections.abc import Callable
from typing import Any

from ...mpi.errors import ErrorClass, MpiError
from ...mpi.op import Op, reduce_local
from ..binding import bind, binding
from ..callbacks import handle_type, of_program
from ..context import abi


class UserFunction:
    """The program's function at `address`."""

    def __init__(self, address: int, large: bool) -> None:
        self.address = address
        self._number = "long long" if large else "int"
        self._handle = handle_type()
        self._call = of_program(f"void (*)(intptr_t, intptr_t, {self._number} *, {self._handle} *)", address)

    def __call__(self, incoming: int, inout: int, count: int, datatype: Any) -> None:
        new, handle = abi.ffi.new, abi.types.handle_of(datatype)
        self._call(incoming, inout, new(f"{self._number} *", count), new(f"{self._handle} *", handle))


def of_cxx(call_function: int, address: int) -> Callable[[int, int, int, Any], None]:
    """The program's C++ function at `address`, which the C++ bindings' own function calls."""
    form = f"void (*)(intptr_t, intptr_t, int, {handle_type()}, intptr_t)"
    through = of_program(form, call_function)

    def call(incoming: int, inout: int, count: int, datatype: Any) -> None:
        through(incoming, inout, count, abi.types.handle_of(datatype), address)

    return call


@binding
def MPI_Op_create(user_fn: int, commute: int, large: bool) -> Op:
    return Op(UserFunction(user_fn, large), bool(commute))


@binding
def MPI_Op_free(op: Any) -> None:
    if abi.ops[op[0]].predefined:
        raise MpiError(ErrorClass.OP, f"MPI_Op_free: {abi.ops[op[0]].name} is predefined and cannot be freed")
    abi.ops.remove(op[0])
    op[0] = abi.ops.null


bind("MPI_Op_commutative", lambda op: op.commute, always=True)


@binding
def MPI_Reduce_local(inbuf: int, inoutbuf: int, count: int, datatype: Any, op: Op) -> None:
    reduce_local(inbuf, inoutbuf, count, datatype, op)
