"""How a datatype was made: what MPI_Type_get_envelope and MPI_Type_get_contents tell."""

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .datatype import Datatype


class Combiner(enum.IntEnum):
    """Constructors, numbered as MPICH numbers them."""

    NAMED = 1
    DUP = 2
    CONTIGUOUS = 3
    VECTOR = 4
    HVECTOR = 6
    INDEXED = 7
    HINDEXED = 9
    INDEXED_BLOCK = 10
    STRUCT = 12
    SUBARRAY = 13
    DARRAY = 14
    F90_REAL = 15
    F90_COMPLEX = 16
    F90_INTEGER = 17
    RESIZED = 18
    HINDEXED_BLOCK = 19
    VALUE_INDEX = 20


class Order(enum.IntEnum):
    """Which index of an array varies fastest."""

    C = 56
    FORTRAN = 57


class Distribution(enum.IntEnum):
    """How a dimension of a distributed array is dealt out."""

    BLOCK = 121
    CYCLIC = 122
    NONE = 123


DEFAULT_ARGUMENT = -49767  # MPI_DISTRIBUTE_DFLT_DARG


class Envelope(NamedTuple):
    """The constructor and its arguments, sorted as MPI sorts them: by C type, in order of appearance."""

    combiner: Combiner = Combiner.NAMED
    integers: tuple[int, ...] = ()
    addresses: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    datatypes: "tuple[Datatype, ...]" = ()
