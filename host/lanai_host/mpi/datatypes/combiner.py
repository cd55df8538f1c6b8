"""The constructors of datatypes, and the choices among their arguments."""

import enum


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
    """The index of an array that varies fastest."""

    C = 56
    FORTRAN = 57


class Distribution(enum.IntEnum):
    """The way in which a dimension of a distributed array is dealt out."""

    BLOCK = 121
    CYCLIC = 122
    NONE = 123


DEFAULT_ARGUMENT = -49767  # MPI_DISTRIBUTE_DFLT_DARG
