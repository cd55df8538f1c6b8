"""The description of this binary interface: sizes of C's integers, and Fortran's types and logical values.

The size of LOGICAL and its values are fixed when the library is built, as MPICH's are: a program may ask for them, and
is refused with MPI_ERR_ABI when it sets them.
"""

import ctypes

from ...mpi.datatypes import PREDEFINED
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.info import Info
from ..binding import always
from ..context import abi

_LOGICAL = PREDEFINED["MPI_LOGICAL"]
_DEFAULT = ("logical", "integer", "real", "double_precision")
# Types of Fortran that a library may leave out, by the bytes in their names.
_OPTIONAL = {
    "logical": (1, 2, 4, 8, 16),
    "integer": (1, 2, 4, 8, 16),
    "real": (2, 4, 8, 16),
    "complex": (4, 8, 16, 32),
    "double_complex": ("",),
}


@always
def MPI_Abi_get_info() -> Info:
    return Info(_sizes("aint", "count", "offset"))


@always
def MPI_Abi_get_fortran_info() -> Info | None:
    """Return the info that says which optional types of Fortran there are. It is null under the MPICH ABI: the
    Fortran bindings of the distribution are not known here."""
    if "MPICH_NUMVERSION" in abi.constants:
        return None
    names = [f"{name}{size}" for name, sizes in _OPTIONAL.items() for size in sizes]
    supported = [(f"mpi_{name}_supported", str(f"MPI_{name.upper()}" in PREDEFINED).lower()) for name in names]
    return Info([*_sizes(*_DEFAULT), *supported])


def _sizes(*names: str) -> list[tuple[str, str]]:
    return [(f"mpi_{name}_size", str(PREDEFINED[f"MPI_{name.upper()}"].size)) for name in names]


@always
def MPI_Abi_set_fortran_info(info: Info | None) -> None:
    raise MpiError(ErrorClass.ABI, "MPI_Abi_set_fortran_info: the library has its Fortran types since it was built")


def _check_size(call: str, logical_size: int) -> None:
    if logical_size != _LOGICAL.size:
        raise MpiError(
            ErrorClass.ABI,
            f"{call}: logical_size is {logical_size}; a LOGICAL of this library has {_LOGICAL.size} bytes",
        )


@always
def MPI_Abi_get_fortran_booleans(logical_size: int, logical_true: int, logical_false: int) -> bool:
    _check_size("MPI_Abi_get_fortran_booleans", logical_size)
    for address, value in ((logical_true, 1), (logical_false, 0)):
        ctypes.memmove(address, value.to_bytes(_LOGICAL.size, "little"), _LOGICAL.size)
    return True


@always
def MPI_Abi_set_fortran_booleans(logical_size: int, logical_true: int, logical_false: int) -> None:
    call = "MPI_Abi_set_fortran_booleans"
    _check_size(call, logical_size)
    raise MpiError(ErrorClass.ABI, f"{call}: .true. is 1 and .false. is 0 since the library was built")
