"""Combining what came with what lies at the target, element by element."""

import numpy as np

from ..buffers import TypedScratch
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..memory import Scratch, array_at
from ..op import PREDEFINED, Op
from .wire import OP_NUMBERS, TYPES, basic_number

REPLACE, NO_OP = PREDEFINED["MPI_REPLACE"], PREDEFINED["MPI_NO_OP"]
_SWAPPED = frozenset({"integer", "fortran integer", "logical", "byte"})  # kinds that can be compared and swapped


def check(call: str, op: Op, count: int, datatype: Datatype, fetching: bool = False) -> int:
    """The operation may be used with the elements at the target, if there are any; their predefined
    type's number."""
    number = basic_number(datatype)
    if number is None:
        raise MpiError(
            ErrorClass.TYPE, f"{call}: target_datatype {datatype.name!r} is not made of one predefined datatype"
        )
    if id(op) not in OP_NUMBERS:
        raise MpiError(ErrorClass.OP, f"{call}: op is {op!r}; it must be a predefined operation")
    if op is NO_OP and not fetching:
        raise MpiError(ErrorClass.OP, f"{call}: op is MPI_NO_OP, which only calls that fetch may use")
    if count > 0 and op is not REPLACE and op is not NO_OP:
        op.check(call, TYPES[number])
    return number


def check_swap(call: str, datatype: Datatype) -> int:
    """The number of a datatype that MPI_Compare_and_swap takes."""
    number = basic_number(datatype) if datatype.predefined else None
    if number is None or TYPES[number].kind not in _SWAPPED:
        raise MpiError(
            ErrorClass.TYPE, f"{call}: the datatype is {datatype.name!r}; it must be an integer, a logical or MPI_BYTE"
        )
    return number


def combine(op: Op, basic: Datatype, source: int, size: int, address: int, count: int, datatype: Datatype) -> None:
    """target = target op source. `source` is `size` packed bytes of `basic`; the target `count` of
    `datatype`, made of `basic`."""
    if op is NO_OP or not size:
        return
    if op is REPLACE:
        datatype.unpack(source, address, count, 0, size)
        return
    elements = size // basic.size
    packed = Scratch(size)  # combined beside the window, so that memory that is not there is an error and no signal
    datatype.pack(address, count, packed.address, 0, size)
    if basic.dense:
        op.function(source, packed.address, elements, basic)
    else:
        held = _spread(packed.address, elements, basic)
        op.function(_spread(source, elements, basic).address, held.address, elements, basic)
        basic.pack(held.address, elements, packed.address)
    datatype.unpack(packed.address, address, count, 0, size)


def _spread(source: int, elements: int, basic: Datatype) -> TypedScratch:
    """Packed elements, each in its own layout."""
    held = TypedScratch(elements, basic)
    basic.unpack(source, held.address, elements)
    return held


def compare_and_swap(origin: int, compare: int, address: int, datatype: Datatype) -> Scratch:
    """The element that lay at `address`, where that of `origin` now lies if the one that lay there
    was `compare`'s."""
    size = datatype.size
    old = Scratch(size)
    datatype.pack(address, 1, old.address)
    if bytes(old.data[:size]) == bytes(array_at(compare, size, np.uint8)):
        datatype.unpack(origin, address, 1)
    return old
