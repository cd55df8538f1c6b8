"""The external32 representation: big-endian, with the sizes that MPI fixes."""

import numpy as np

from ..errors import ErrorClass, MpiError
from ..memory import Scratch, array_at
from .datatype import Datatype
from .signature import Basic

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
