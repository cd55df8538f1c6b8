"""Calls that C answers without Python, where nothing has to be told or looked for.

The front of the library asks the functions of `lanai_in_c` (`front.c`) first; those that are null answer nothing. They
are filled in when a program first makes what they serve. None is filled in while somebody is told of each call.
"""

import ctypes

from ..mpi import partitioned
from ..mpi.added_codes import FUNCTIONS, AddedCodes
from ..mpi.constants import ThreadLevel
from ..mpi.partitioned import PartitionedRequest
from .context import abi


class Functions(ctypes.Structure):
    """`lanai_in_c`."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("codes", *FUNCTIONS, "ready", "arrived")]


class _State:
    functions: Functions | None = None  # of this library; None: every call enters Python


def begin(library: ctypes.CDLL) -> None:
    """From now on this library's calls may be answered in C."""
    _State.functions = Functions.in_dll(library, "lanai_in_c")


def end() -> None:
    """Every call enters Python from now on."""
    if _State.functions is not None:
        ctypes.memset(ctypes.addressof(_State.functions), 0, ctypes.sizeof(Functions))
    _State.functions = None


def end_partitions() -> None:
    """MPI has ended, and calls about requests are refused."""
    if _State.functions is not None:
        _State.functions.ready = _State.functions.arrived = None


def answer_codes(added: AddedCodes) -> None:
    """The program adds error classes and codes to this table."""
    functions = _State.functions
    if functions is not None and not functions.codes:
        functions.codes = added.address()
        for name in FUNCTIONS:
            setattr(functions, name, added.address(name))


def put_partitioned(request: PartitionedRequest) -> int:
    """A handle for a new request, which C knows too."""
    handle = abi.requests.put(request)
    functions = _State.functions
    if functions is not None:
        if not functions.ready:
            progress = abi.world.process.progress
            in_any_order = progress.order is None and abi.world.thread_level > ThreadLevel.FUNNELED
            partitioned.open_handles(abi.requests.first, in_any_order)
            functions.ready, functions.arrived = map(partitioned.address, ("ready", "arrived"))
        request.partitions.enter(handle)
    return handle


def forget_partitions(handle: int) -> None:
    """The program has freed a partitioned request."""
    if _State.functions is not None:
        partitioned.forget(handle)
