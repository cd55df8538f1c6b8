"""Datatypes: predefined (`PREDEFINED`, `BYTE`, `PACKED`), derived (the constructors), and what one
can do with them.

`Datatype`: fields `size lb extent true_lb true_extent committed predefined name kind dtype dense
attributes envelope`; `body(address, count)`, `pack(address, count, stream, begin, end)`,
`unpack(stream, address, count, begin, end)`, `whole_count(bytes)`, `whole_elements(bytes)`,
`commit()`, `set_name(name)`.
"""

from .arrays import darray, subarray
from .basic import BYTE, NO_DATATYPE, PACKED, PREDEFINED
from .construct import (
    contiguous,
    duplicate,
    hindexed,
    hindexed_block,
    hvector,
    indexed,
    indexed_block,
    resized,
    struct,
    vector,
)
from .datatype import Datatype, Envelope
from .matching import TypeClass, f90_complex, f90_integer, f90_real, match_size, value_index
from .signature import DEFAULT_ARGUMENT, Combiner, Distribution, Order

__all__ = [
    "BYTE",
    "DEFAULT_ARGUMENT",
    "NO_DATATYPE",
    "PACKED",
    "PREDEFINED",
    "Combiner",
    "Datatype",
    "Distribution",
    "Envelope",
    "Order",
    "TypeClass",
    "contiguous",
    "darray",
    "duplicate",
    "f90_complex",
    "f90_integer",
    "f90_real",
    "hindexed",
    "hindexed_block",
    "hvector",
    "indexed",
    "indexed_block",
    "match_size",
    "resized",
    "struct",
    "subarray",
    "value_index",
    "vector",
]
