"""The numbers of MPI as this library uses them inside.

They are MPICH's (the `mpich` package's mpi.h), so that the MPICH ABI passes them through unchanged;
another ABI translates at its border. `IN_PLACE` and `BOTTOM` stand for buffer addresses, the rest
for ranks, tags and choices.
"""

import enum
from typing import Final

PROC_NULL: Final = -1
ANY_SOURCE: Final = -2
ROOT: Final = -3
ANY_TAG: Final = -1
UNDEFINED: Final = -32766

BOTTOM: Final = 0
IN_PLACE: Final = -1  # no address is negative

MAX_INFO_KEY: Final = 255
MAX_INFO_VALUE: Final = 1024
MAX_OBJECT_NAME: Final = 128  # with the final NUL
MAX_ERROR_STRING: Final = 512
BSEND_OVERHEAD: Final = 96
TAG_UB: Final = 2**29 - 1  # less than an int holds, so that a tag above it reaches the library and gets MPI's error


class Comparison(enum.IntEnum):
    """The result of comparing two groups or two communicators."""

    IDENT = 0
    CONGRUENT = 1
    SIMILAR = 2
    UNEQUAL = 3


class ThreadLevel(enum.IntEnum):
    SINGLE = 0
    FUNNELED = 1
    SERIALIZED = 2
    MULTIPLE = 3


class TopologyKind(enum.IntEnum):
    """The result of MPI_Topo_test; UNDEFINED stands for no topology."""

    GRAPH = 1
    CART = 2
    DIST_GRAPH = 3


class SplitType(enum.IntEnum):
    """The split types of MPI_Comm_split_type."""

    SHARED = 1
    HW_GUIDED = 2
    HW_UNGUIDED = 3
    RESOURCE_GUIDED = 4


SPLIT_BY_NEIGHBORHOOD = 5  # MPIX_COMM_TYPE_NEIGHBORHOOD, which the standard ABI does not have


class LockType(enum.IntEnum):
    """The lock types of MPI_Win_lock."""

    EXCLUSIVE = 234
    SHARED = 235


class WindowFlavor(enum.IntEnum):
    """The function that made a window: the attribute MPI_WIN_CREATE_FLAVOR."""

    CREATE = 1
    ALLOCATE = 2
    DYNAMIC = 3
    SHARED = 4


class WindowModel(enum.IntEnum):
    """The attribute MPI_WIN_MODEL."""

    SEPARATE = 1
    UNIFIED = 2


class Assertion(enum.IntFlag):
    """The assertions of a program that opens or closes an epoch: MPI_MODE_NOCHECK and so on."""

    NOCHECK = 1024
    NOSTORE = 2048
    NOPUT = 4096
    NOPRECEDE = 8192
    NOSUCCEED = 16384


# The status of a completed receive.


class Status:
    """Source and tag, the number of bytes received, whether cancelled, and the error if any.

    `error` is an MpiError or None; the C binding turns it into a code. It writes MPI_ERROR of a single
    status only if that `sets_error`. A fresh Status is MPI's
    *empty* status.
    """

    __slots__ = ("cancelled", "count", "error", "sets_error", "source", "tag")

    def __init__(
        self,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        count: int = 0,
        cancelled: bool = False,
        error: Exception | None = None,
    ) -> None:
        self.source = source
        self.tag = tag
        self.count = count
        self.cancelled = cancelled
        self.error = error
        self.sets_error = source == ANY_SOURCE  # the empty status says that all is well

    def __repr__(self) -> str:
        failed = f", error={self.error}" if self.error else ""
        return f"Status(source={self.source}, tag={self.tag}, count={self.count}, cancelled={self.cancelled}{failed})"
