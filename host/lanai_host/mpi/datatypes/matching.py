"""Predefined types found by what they can hold: Fortran kinds, type classes, value-index pairs."""

import enum
from functools import cache

import numpy as np

from ..constants import UNDEFINED
from ..errors import ErrorClass, MpiError
from ..memory import Scratch, array_at
from .basic import PREDEFINED
from .construct import _same_bytes
from .datatype import Datatype, Envelope
from .signature import Basic, Combiner


class TypeClass(enum.IntEnum):
    """The type classes of MPI_Type_match_size."""

    REAL = 1
    INTEGER = 2
    COMPLEX = 3


_SIZED = {
    TypeClass.REAL: {2: "REAL2", 4: "REAL4", 8: "REAL8", 16: "REAL16"},
    TypeClass.INTEGER: {1: "INTEGER1", 2: "INTEGER2", 4: "INTEGER4", 8: "INTEGER8", 16: "INTEGER16"},
    TypeClass.COMPLEX: {4: "COMPLEX4", 8: "COMPLEX8", 16: "COMPLEX16", 32: "COMPLEX32"},
}
# (decimal digits, decimal exponent) of IEEE's single and double, and the name for reals and for
# complexes.
_REALS = ((6, 37, "MPI_REAL", "MPI_COMPLEX"), (15, 307, "MPI_DOUBLE_PRECISION", "MPI_DOUBLE_COMPLEX"))
_INTEGERS = ((2, "INTEGER1"), (4, "INTEGER2"), (9, "INTEGER4"), (18, "INTEGER8"))


def match_size(typeclass: int, size: int) -> Datatype:
    """MPI_Type_match_size: a Fortran type by class and bytes."""
    known = _SIZED.get(typeclass) if typeclass in tuple(TypeClass) else None  # type: ignore[call-overload]
    if known is None:
        raise MpiError(
            ErrorClass.ARG,
            f"MPI_Type_match_size: typeclass is {typeclass}; it must be MPI_TYPECLASS_REAL, _INTEGER or _COMPLEX",
        )
    if size not in known:
        raise MpiError(ErrorClass.ARG, f"MPI_Type_match_size: no type of class {typeclass} has {size} bytes")
    return PREDEFINED[f"MPI_{known[size]}"]


def _real(call: str, combiner: Combiner, precision: int, exponent: int) -> Datatype:
    for digits, reach, real, complex_ in _REALS:
        if (precision == UNDEFINED or precision <= digits) and (exponent == UNDEFINED or exponent <= reach):
            name = real if combiner is Combiner.F90_REAL else complex_
            return _named(PREDEFINED[name], Envelope(combiner, (precision, exponent)))
    raise MpiError(ErrorClass.ARG, f"{call}: no kind has {precision} digits and an exponent range of {exponent}")


def _named(old: Datatype, envelope: Envelope) -> Datatype:
    new = _same_bytes(old, old.lb, old.extent, old.markers, envelope)
    new.predefined = True
    new.commit()
    return new


@cache
def f90_real(precision: int, exponent: int) -> Datatype:
    """MPI_Type_create_f90_real. The same arguments give the same type, as MPI asks."""
    return _real("MPI_Type_create_f90_real", Combiner.F90_REAL, precision, exponent)


@cache
def f90_complex(precision: int, exponent: int) -> Datatype:
    """MPI_Type_create_f90_complex."""
    return _real("MPI_Type_create_f90_complex", Combiner.F90_COMPLEX, precision, exponent)


@cache
def f90_integer(digits: int) -> Datatype:
    """MPI_Type_create_f90_integer."""
    for reach, name in _INTEGERS:
        if digits <= reach:
            return _named(PREDEFINED[f"MPI_{name}"], Envelope(Combiner.F90_INTEGER, (digits,)))
    raise MpiError(ErrorClass.ARG, f"MPI_Type_create_f90_integer: no kind has {digits} decimal digits")


_PAIRS = (
    "FLOAT_INT",
    "DOUBLE_INT",
    "LONG_INT",
    "SHORT_INT",
    "2INT",
    "LONG_DOUBLE_INT",
    "2INTEGER",
    "2REAL",
    "2DOUBLE_PRECISION",
)


def value_index(value: Datatype, index: Datatype) -> Datatype | None:
    """MPI_Type_get_value_index: the named pair type for MPI_MINLOC and MPI_MAXLOC, or None
    (MPI_DATATYPE_NULL)."""
    for name in _PAIRS:
        pair = PREDEFINED[f"MPI_{name}"]
        (first, _), (second, _) = pair.signature.parts
        if first is value.signature and second is index.signature:
            return pair
    return None


# The external32 representation: big-endian, with the sizes that MPI fixes.

# external sizes that differ from the machine's, as numpy integers of the same signedness
_NARROWED = {("MPI_LONG", 4): "i4", ("MPI_UNSIGNED_LONG", 4): "u4", ("MPI_WCHAR", 2): "u2"}


def check_representation(call: str, name: str) -> None:
    """There is one."""
    if name != "external32":
        raise MpiError(ErrorClass.ARG, f"{call}: datarep is {name!r}; it must be 'external32'")


def size(count: int, datatype: Datatype) -> int:
    """MPI_Pack_external_size."""
    return count * datatype.signature.external


def pack(address: int, count: int, datatype: Datatype, target: int) -> int:
    """MPI_Pack_external without its bookkeeping; bytes written to `target`."""
    native = Scratch(count * datatype.size)
    datatype.pack(address, count, native.address)
    here, there = native.address, target
    for basic, elements in datatype.signature.runs(count):
        _convert(basic, here, there, elements, outward=True)
        here += basic.size * elements
        there += basic.external * elements
    return there - target


def unpack(source: int, address: int, count: int, datatype: Datatype) -> int:
    """MPI_Unpack_external without its bookkeeping; bytes read from `source`."""
    total = size(count, datatype)
    unpack_part(source, total, address, count, datatype)
    return total


def unpack_part(source: int, available: int, address: int, count: int, datatype: Datatype) -> int:
    """Unpack the basic elements that are whole in the first `available` bytes at `source`; bytes of
    data in memory."""
    native = Scratch(count * datatype.size)
    here, there, end = native.address, source, source + available
    for basic, elements in datatype.signature.runs(count):
        whole = min(elements, (end - there) // basic.external)
        _convert(basic, here, there, whole, outward=False)
        here += basic.size * whole
        there += basic.external * whole
        if whole < elements:
            break
    return datatype.unpack(native.address, address, count, 0, here - native.address)


def _convert(basic: Basic, native: int, external: int, elements: int, outward: bool) -> None:
    inside = basic.dtype
    narrow = _NARROWED.get((basic.name, basic.external))
    if narrow is not None and inside is not None:
        outside = np.dtype(narrow).newbyteorder(">")
    elif inside is not None and basic.name not in ("MPI_LONG_DOUBLE", *_WIDE):
        outside = inside.newbyteorder(">")
    else:
        # Kinds without a numpy type of their own (and x87's long double) travel as their bytes
        # turned round.
        _turn_round(basic, native, external, elements, outward)
        return
    mine, theirs = array_at(native, elements, inside), array_at(external, elements, outside)
    if outward:
        theirs[...] = mine.astype(outside, casting="unsafe")
    else:
        mine[...] = theirs.astype(inside, casting="unsafe")


_WIDE = ("MPI_C_LONG_DOUBLE_COMPLEX", "MPI_CXX_LONG_DOUBLE_COMPLEX")
_COMPLEX = (*_WIDE, "MPI_COMPLEX4", "MPI_COMPLEX32")


def _turn_round(basic: Basic, native: int, external: int, elements: int, outward: bool) -> None:
    parts = 2 if basic.name in _COMPLEX else 1
    width = basic.size // parts
    mine = array_at(native, elements * basic.size, np.uint8).reshape(-1, width)
    theirs = array_at(external, elements * basic.size, np.uint8).reshape(-1, width)
    if outward:
        theirs[...] = mine[:, ::-1]
    else:
        mine[...] = theirs[:, ::-1]
