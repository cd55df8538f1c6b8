"""The predefined datatypes of the C and Fortran bindings, on this machine."""

import ctypes
from typing import Any

import numpy as np

from .datatype import Datatype
from .layout import EMPTY, Layout, block, joined
from .signature import Basic, Signature, signature_of

# (kind, numpy type or (size without one), names). Sizes are the C compiler's, as numpy knows them.
_TABLE: tuple[tuple[str, Any, str], ...] = (
    ("", "i1", "CHARACTER"),
    ("integer", "i1", "CHAR SIGNED_CHAR INT8_T"),
    ("fortran integer", "i1", "INTEGER1"),
    ("integer", "u1", "UNSIGNED_CHAR UINT8_T"),
    ("byte", "u1", "BYTE"),
    ("", "u1", "PACKED"),
    ("integer", "i2", "INT16_T"),
    ("fortran integer", "i2", "INTEGER2"),
    ("integer", "u2", "UINT16_T"),
    ("integer", "i4", "INT32_T"),
    ("fortran integer", "i4", "INTEGER INTEGER4"),
    ("integer", "u4", "UINT32_T"),
    ("integer", "i8", "INT64_T AINT OFFSET COUNT"),
    ("fortran integer", "i8", "INTEGER8"),
    ("integer", "u8", "UINT64_T"),
    ("integer", np.short, "SHORT"),
    ("integer", np.ushort, "UNSIGNED_SHORT"),
    ("integer", np.intc, "INT"),
    ("integer", np.uintc, "UNSIGNED"),
    ("integer", np.int_, "LONG"),
    ("integer", np.uint, "UNSIGNED_LONG"),
    ("integer", np.longlong, "LONG_LONG_INT"),
    ("integer", np.ulonglong, "UNSIGNED_LONG_LONG"),
    ("fortran integer", 16, "INTEGER16"),
    ("", f"u{ctypes.sizeof(ctypes.c_wchar)}", "WCHAR"),
    ("floating", "f2", "REAL2 C_FLOAT16"),
    ("", 2, "BFLOAT16"),
    ("floating", "f4", "FLOAT REAL REAL4"),
    ("floating", "f8", "DOUBLE DOUBLE_PRECISION REAL8"),
    ("floating", np.longdouble, "LONG_DOUBLE"),
    ("floating", 16, "REAL16"),
    ("complex", 4, "COMPLEX4"),
    ("complex", "c8", "COMPLEX COMPLEX8 C_FLOAT_COMPLEX CXX_FLOAT_COMPLEX"),
    ("complex", "c16", "DOUBLE_COMPLEX COMPLEX16 C_DOUBLE_COMPLEX CXX_DOUBLE_COMPLEX"),
    ("complex", np.clongdouble, "C_LONG_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX"),
    ("complex", 32, "COMPLEX32"),
    ("logical", "?", "C_BOOL CXX_BOOL"),
    ("logical", "i1", "LOGICAL1"),
    ("logical", "i2", "LOGICAL2"),
    ("logical", "i4", "LOGICAL LOGICAL4"),
    ("logical", "i8", "LOGICAL8"),
    ("logical", 16, "LOGICAL16"),
)
# Where external32 differs from the size here.
_EXTERNAL = {"LONG": 4, "UNSIGNED_LONG": 4, "WCHAR": 2}

# Value and index, for MPI_MINLOC and MPI_MAXLOC: C's lay them out as a struct.
_PAIRS = {
    "FLOAT_INT": ("FLOAT", "INT"),
    "DOUBLE_INT": ("DOUBLE", "INT"),
    "LONG_INT": ("LONG", "INT"),
    "SHORT_INT": ("SHORT", "INT"),
    "2INT": ("INT", "INT"),
    "LONG_DOUBLE_INT": ("LONG_DOUBLE", "INT"),
    "2INTEGER": ("INTEGER", "INTEGER"),
    "2REAL": ("REAL", "REAL"),
    "2DOUBLE_PRECISION": ("DOUBLE_PRECISION", "DOUBLE_PRECISION"),
}

PREDEFINED: dict[str, Datatype] = {}

# MPI_DATATYPE_NULL, for messages without elements. It is not committed, so that using it is an error.
NO_DATATYPE = Datatype(lambda: (EMPTY, Signature(())), 0, 0, 0, name="MPI_DATATYPE_NULL")


def _add_basic(name: str, kind: str, what: Any) -> None:
    dtype = None if isinstance(what, int) else np.dtype(what)
    size = what if dtype is None else dtype.itemsize
    full = f"MPIX_{name}" if name in ("C_FLOAT16", "BFLOAT16") else f"MPI_{name}"
    element = Basic(full, kind, size, _EXTERNAL.get(name, size), dtype)
    # x86-64 and its kin align a complex number as its parts; numpy knows.
    alignment = min(16, size) if dtype is None else dtype.alignment
    PREDEFINED[full] = Datatype(
        lambda: (block(size), signature_of(element)),
        size,
        0,
        size,
        alignment=alignment,
        dtype=np.dtype((np.void, size)) if dtype is None else dtype,
        kind=kind,
        name=full,
    )


def _pair_type(value: Datatype, index: Datatype, name: str) -> Datatype:
    """A struct of a value and its index, as MPI_MINLOC and MPI_MAXLOC combine."""
    dtype = np.dtype([("value", value.dtype), ("index", index.dtype)], align=True)
    assert dtype.fields is not None
    offset = dtype.fields["index"][1]
    layout = joined(((0, value.layout), (offset, index.layout)))
    signature = Signature(((value.signature, 1), (index.signature, 1)))
    return Datatype(
        lambda: (layout, signature),
        layout.size,
        0,
        dtype.itemsize,
        alignment=dtype.alignment,
        dtype=dtype,
        kind="pair",
        name=name,
    )


for _kind, _what, _names in _TABLE:
    for _name in _names.split():
        _add_basic(_name, _kind, _what)
for _name, (_value, _index) in _PAIRS.items():
    PREDEFINED[f"MPI_{_name}"] = _pair_type(PREDEFINED[f"MPI_{_value}"], PREDEFINED[f"MPI_{_index}"], f"MPI_{_name}")


def _nothing() -> tuple[Layout, Signature]:
    return EMPTY, Signature(())


# Markers of MPI-1: no bytes, but they set the lower or upper bound of a struct.
PREDEFINED["MPI_LB"] = Datatype(_nothing, 0, 0, 0, markers=(True, False), name="MPI_LB")
PREDEFINED["MPI_UB"] = Datatype(_nothing, 0, 0, 0, markers=(False, True), name="MPI_UB")
# The header has a second name for this one, which MPICH says.
PREDEFINED["MPI_C_FLOAT_COMPLEX"].name = "MPI_C_COMPLEX"
for _type in PREDEFINED.values():
    _type.predefined = True
    _type.commit()

BYTE = PREDEFINED["MPI_BYTE"]
PACKED = PREDEFINED["MPI_PACKED"]
