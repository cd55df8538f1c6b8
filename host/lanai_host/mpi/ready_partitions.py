"""The partitions of a request, counted in C (`partitions.c`), where the C library finds them by the request's
handle."""

from functools import cache
from typing import Any

from ..c_module import load

DECLARED = """
typedef struct Partitions Partitions;
Partitions *partitions_new(int, int);
void partitions_delete(Partitions *);
void partitions_start(Partitions *);
void partitions_arrive(Partitions *);
int partitions_mark(Partitions *, const int *, int, int *);
void partitions_open(intptr_t, int);
void partitions_enter(intptr_t, Partitions *);
int partitions_ready(intptr_t, int);
int partitions_arrived(intptr_t, int, int *);
"""


@cache
def _native() -> Any:
    return load(__package__, "partitions", DECLARED)


def open_handles(first: int, by_any_thread: bool) -> None:
    """Handles count from `first`. `by_any_thread`: no call needs a turn of its own, with several threads either."""
    _native().lib.partitions_open(first, by_any_thread)


def forget(handle: int) -> None:
    """The program has freed the request with this handle."""
    _native().lib.partitions_enter(handle, _native().ffi.NULL)


def address(function: str) -> int:
    """Return the address of `ready` or `arrived` for C."""
    native = _native()
    return int(native.ffi.cast("intptr_t", native.ffi.addressof(native.lib, f"partitions_{function}")))


class Partitions:
    """The partitions of one request. Raises MemoryError."""

    def __init__(self, count: int, sends: bool) -> None:
        native = _native()
        made = native.lib.partitions_new(count, sends)
        if not made:
            raise MemoryError
        self._ffi, self._lib = native.ffi, native.lib
        self._record = native.ffi.gc(made, native.lib.partitions_delete)
        self._all = native.ffi.new("int *")

    def start(self) -> None:
        """The request is active: no partition is ready, or has arrived."""
        self._lib.partitions_start(self._record)

    def arrive(self) -> None:
        """All partitions have arrived."""
        self._lib.partitions_arrive(self._record)

    def mark(self, which: list[int]) -> tuple[int, bool]:
        """Mark partitions as ready, up to one that cannot be marked. Return how many, and whether all of the request
        are now ready."""
        self._all[0] = 0
        done = self._lib.partitions_mark(self._record, which, len(which), self._all)
        return done, bool(self._all[0])

    def enter(self, handle: int) -> None:
        """The program knows the request by this handle."""
        self._lib.partitions_enter(handle, self._record)
