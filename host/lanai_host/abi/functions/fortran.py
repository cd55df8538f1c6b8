"""Functions beside MPI itself that MPICH's Fortran and C++ bindings call: attributes that are integers, and callbacks
in their language.

Values of attributes travel as they are: C's are pointers, Fortran's are integers of which the program wants the value
back. C reads an integer of Fortran's through a pointer, as MPI says; Fortran reads a pointer of C's as an address.
"""

from typing import Any

from ...mpi.attributes import Errhandler
from ...mpi.op import Op
from .. import callbacks
from ..binding import bind, binding
from ..context import abi
from ..failures import ERRORS
from . import attributes
from .collectives import UserFunction, of_cxx

POINTER = 0  # the kind of attributes of C


def _set(call: str, kind_of_object: str, owner: Any, keyval: int, value: int, kind: int) -> None:
    held = value if kind == POINTER else attributes.Integer(value)
    attributes.set_value(call, kind_of_object, owner, keyval, held)


def _get(call: str, kind_of_object: str, owner: Any, keyval: int, result: int, kind: int) -> bool:
    if attributes.predefined(keyval - 1, kind_of_object):  # mpif.h's predefined keys are mpi.h's plus one
        keyval -= 1
    if kind == POINTER:
        return attributes.get_pointer(call, kind_of_object, owner, keyval, result)
    found, value = attributes.get_value(call, kind_of_object, owner, keyval)
    if found:
        abi.ffi.cast("intptr_t *", result)[0] = value
    return found


bind(
    "MPII_Comm_set_attr",
    lambda comm, keyval, attribute_val, kind: _set("MPI_Comm_set_attr", "comm", comm, keyval, attribute_val, kind),
)
bind(
    "MPII_Comm_get_attr",
    lambda comm, keyval, attribute_val, kind: _get("MPI_Comm_get_attr", "comm", comm, keyval, attribute_val, kind),
)
bind(
    "MPII_Type_set_attr",
    lambda datatype, keyval, attribute_val, kind: _set(
        "MPI_Type_set_attr", "type", datatype, keyval, attribute_val, kind
    ),
)
bind(
    "MPII_Type_get_attr",
    lambda datatype, keyval, attribute_val, kind: _get(
        "MPI_Type_get_attr", "type", datatype, keyval, attribute_val, kind
    ),
)


bind(
    "MPII_Win_set_attr",
    lambda win, keyval, attribute_val, kind: _set("MPI_Win_set_attr", "win", win, keyval, attribute_val, kind),
)
bind(
    "MPII_Win_get_attr",
    lambda win, keyval, attribute_val, kind: _get("MPI_Win_get_attr", "win", win, keyval, attribute_val, kind),
)


@binding
def MPII_Keyval_set_proxy(keyval: int, copy_proxy: int, delete_proxy: int) -> None:
    """The callbacks of this key are Fortran's: the bindings' own functions call them."""
    abi.keyvals[keyval].proxy(copy_proxy, delete_proxy)


@binding
def MPII_Grequest_set_lang_f77(greq: Any) -> None:
    """The callbacks of this generalized request are Fortran's."""
    greq.callbacks.fortran = True


# The functions of these operations and error handlers are C++'s: the bindings' own function calls
# them.


@binding
def MPII_Op_set_cxx(op: Op, call_function: int) -> None:
    if isinstance(op.function, UserFunction):
        op.function = of_cxx(call_function, op.function.address)


@binding
def MPII_Errhandler_set_cxx(errhandler: Errhandler, call_function: int) -> None:
    if isinstance(errhandler.function, callbacks.Reporter):
        errhandler.function = errhandler.function.through_cxx(call_function)


# Older names of the calls that remove what the program added.
bind("MPIX_Delete_error_class", ERRORS.remove_class, "errorclass", always=True)
bind("MPIX_Delete_error_code", ERRORS.remove_code, "errorcode", always=True)
bind("MPIX_Delete_error_string", ERRORS.remove_string, "errorcode", always=True)
