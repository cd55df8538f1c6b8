"""Reduction operations of the program, and reductions without communication."""

from collections.abc import Callable
from typing import Any

from ...mpi.errors import ErrorClass, MpiError
from ...mpi.op import Op, reduce_local
from ..binding import bind, binding
from ..callbacks import handle_type
from ..context import abi


def _user_function(address: int, large: bool) -> Callable[[int, int, int, Any], None]:
    ffi = abi.ffi
    number = "long long" if large else "int"
    handle = handle_type()
    function = ffi.cast(f"void (*)(intptr_t, intptr_t, {number} *, {handle} *)", address)

    def call(incoming: int, inout: int, count: int, datatype: Any) -> None:
        function(incoming, inout, ffi.new(f"{number} *", count), ffi.new(f"{handle} *", abi.types.handle_of(datatype)))

    return call


@binding
def MPI_Op_create(user_fn: int, commute: int, large: bool) -> Op:
    return Op(_user_function(user_fn, large), bool(commute))


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
