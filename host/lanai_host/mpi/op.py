"""Reduction operations: the predefined ones over numpy, and the program's own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from . import wide
from .buffers import check_address
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .memory import array_at

UserFunction = Callable[[int, int, int, Datatype], None]
Array = npt.NDArray[Any]
Combine = Callable[[Array, Array], None]  # (in, inout): inout = in op inout


class Op:
    """MPI_Op. `function(in address, inout address, count, datatype)` leaves in op inout in
    inout."""

    def __init__(self, function: UserFunction, commute: bool, name: str = "", predefined: bool = False) -> None:
        self.function = function
        self.commute = commute
        self.name = name
        self.predefined = predefined

    def __repr__(self) -> str:
        return f"Op({self.name or 'user function'})"

    def check(self, call: str, datatype: Datatype) -> None:
        """The operation is defined on the datatype; programs' operations are on all."""
        if self.predefined:
            _combination(self, call, datatype)


def _ufunc(function: Any) -> Combine:
    def combine(incoming: Array, inout: Array) -> None:
        function(incoming, inout, out=inout, casting="unsafe")

    return combine


def _logical(function: Any) -> Combine:
    def combine(incoming: Array, inout: Array) -> None:
        inout[...] = function(incoming != 0, inout != 0)

    return combine


def _location(better: Any) -> Combine:
    def combine(incoming: Array, inout: Array) -> None:
        value, index = incoming.dtype.names or ("", "")
        wins = better(incoming[value], inout[value])
        ties = (incoming[value] == inout[value]) & (incoming[index] < inout[index])
        chosen = wins | ties
        inout[chosen] = incoming[chosen]

    return combine


def _replace(incoming: Array, inout: Array) -> None:
    inout[...] = incoming


def _nothing(incoming: Array, inout: Array) -> None:
    return


# Kinds of datatypes that each operation takes, as in MPICH: to it Fortran's integers are no
# logicals, and C's are.
_INTEGERS = frozenset({"integer", "fortran integer"})
_NUMBERS = _INTEGERS | {"floating"}
_LOGICALS = frozenset({"integer", "logical"})
_TABLE: dict[str, tuple[Combine, frozenset[str]]] = {
    "MPI_MAX": (_ufunc(np.maximum), _NUMBERS),
    "MPI_MIN": (_ufunc(np.minimum), _NUMBERS),
    "MPI_SUM": (_ufunc(np.add), _NUMBERS | {"complex"}),
    "MPI_PROD": (_ufunc(np.multiply), _NUMBERS | {"complex"}),
    "MPI_LAND": (_logical(np.logical_and), _LOGICALS),
    "MPI_LOR": (_logical(np.logical_or), _LOGICALS),
    "MPI_LXOR": (_logical(np.logical_xor), _LOGICALS),
    "MPI_BAND": (_ufunc(np.bitwise_and), _INTEGERS | {"byte"}),
    "MPI_BOR": (_ufunc(np.bitwise_or), _INTEGERS | {"byte"}),
    "MPI_BXOR": (_ufunc(np.bitwise_xor), _INTEGERS | {"byte"}),
    "MPI_MAXLOC": (_location(np.greater), frozenset({"pair"})),
    "MPI_MINLOC": (_location(np.less), frozenset({"pair"})),
    "MPI_REPLACE": (_replace, frozenset()),
    "MPI_NO_OP": (_nothing, frozenset()),
}


def _combination(op: Op, call: str, datatype: Datatype) -> Combine:
    function, kinds = _TABLE[op.name]
    if datatype.kind not in kinds or datatype.dtype is None:
        raise MpiError(ErrorClass.OP, f"{call}: {op.name} is not defined on the datatype {datatype.name!r}")
    if datatype.dtype.kind == "V" and datatype.dtype.names is None:  # numpy has no such numbers
        return partial(wide.combine, op.name, datatype.kind)
    return function


def _predefined(name: str) -> Op:
    def function(incoming: int, inout: int, count: int, datatype: Datatype) -> None:
        combine = _combination(op, "reduction", datatype)
        with np.errstate(all="ignore"):  # overflow is the program's business, as in C
            combine(array_at(incoming, count, datatype.dtype), array_at(inout, count, datatype.dtype))

    op = Op(function, commute=name != "MPI_REPLACE", name=name, predefined=True)
    return op


PREDEFINED: dict[str, Op] = {name: _predefined(name) for name in _TABLE}


def reduce_local(incoming: int, inout: int, count: int, datatype: Datatype, op: Op) -> None:
    """MPI_Reduce_local."""
    if count < 0:
        raise MpiError(ErrorClass.COUNT, f"MPI_Reduce_local: count is {count}; it must not be negative")
    op.check("MPI_Reduce_local", datatype)
    for name, address in (("inbuf", incoming), ("inoutbuf", inout)):
        check_address("MPI_Reduce_local", name, address, count, datatype)
    if incoming == inout and count and datatype.size:
        raise MpiError(ErrorClass.BUFFER, "MPI_Reduce_local: inbuf and inoutbuf are the same")
    if count:
        op.function(incoming, inout, count, datatype)
