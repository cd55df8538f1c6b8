"""Windows: made, described and freed; synchronization; operations on a target's memory."""

import ctypes
from collections.abc import Callable
from typing import Any

from ...mpi import windows
from ...mpi.attributes import Errhandler, Info
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.windows import access, sync
from .. import callbacks
from ..binding import bind, binding
from ..context import abi

# Making and freeing

bind("MPI_Win_create", windows.create, "comm base size disp_unit info")
bind("MPI_Win_create_dynamic", windows.create_dynamic, "comm info")


def _allocated(make: Callable[..., Any]) -> Callable[..., Any]:
    """A call that makes memory too, and says where it is."""

    def call(comm: Any, size: int, disp_unit: int, info: Info | None, baseptr: int) -> Any:
        window = make(comm, size, disp_unit, info)
        ctypes.c_size_t.from_address(baseptr).value = window.memory.base
        return window

    return call


bind("MPI_Win_allocate", _allocated(windows.allocate))
bind("MPI_Win_allocate_shared", _allocated(windows.allocate_shared))


@binding
def MPI_Win_free(win: Any) -> None:
    windows.free(abi.wins[win[0]])
    abi.wins.remove(win[0])
    win[0] = abi.wins.null


# Describing


@binding
def MPI_Win_shared_query(win: Any, rank: int, baseptr: int) -> tuple[int, int]:
    size, unit, address = win.shared_query(rank)
    ctypes.c_size_t.from_address(baseptr).value = address
    return size, unit


@binding
def MPI_Win_set_info(win: Any, info: Info | None) -> None:
    if info is None:
        raise MpiError(ErrorClass.INFO, "MPI_Win_set_info: info is MPI_INFO_NULL")
    win.set_info(info)


bind("MPI_Win_attach", lambda win, base, size: win.attach(base, size))
bind("MPI_Win_detach", lambda win, base: win.detach(base))
bind("MPI_Win_get_group", lambda win: win.group)
bind("MPI_Win_get_info", lambda win: win.info.duplicate())
bind("MPI_Win_set_name", lambda win, win_name: win.set_name(win_name))
bind("MPI_Win_get_name", lambda win: "MPI_WIN_NULL" if win is None else win.name)

# Error handlers


@binding
def MPI_Win_set_errhandler(win: Any, errhandler: Errhandler) -> None:
    win.errhandler = errhandler


bind("MPI_Win_create_errhandler", lambda win_errhandler_fn: callbacks.errhandler(win_errhandler_fn, abi.wins))
bind("MPI_Win_get_errhandler", lambda win: win.errhandler)


@binding
def MPI_Win_call_errhandler(win: Any, errorcode: int) -> None:
    abi.world.report(callbacks.with_code(errorcode), win)


# Synchronization

bind("MPI_Win_fence", sync.fence, "win assert_")
bind("MPI_Win_start", sync.start, "win group assert_")
bind("MPI_Win_complete", sync.complete, "win")
bind("MPI_Win_post", sync.post, "win group assert_")
bind("MPI_Win_wait", sync.wait, "win")
bind("MPI_Win_test", sync.test, "win")
bind("MPI_Win_lock", sync.lock, "win lock_type rank assert_")
bind("MPI_Win_unlock", sync.unlock, "win rank")
bind("MPI_Win_lock_all", sync.lock_all, "win assert_")
bind("MPI_Win_unlock_all", sync.unlock_all, "win")
bind("MPI_Win_flush", sync.flush, "win rank")
bind("MPI_Win_flush_all", sync.flush_all, "win")
bind("MPI_Win_flush_local", sync.flush_local, "win rank")
bind("MPI_Win_flush_local_all", sync.flush_local_all, "win")
bind("MPI_Win_sync", sync.sync, "win")

# Operations

_ORIGIN = "win origin_addr origin_count origin_datatype"
_RESULT = "result_addr result_count result_datatype"
_TARGET = "target_rank target_disp target_count target_datatype"

for _name, _function, _inputs in (
    ("put", access.put, f"{_ORIGIN} {_TARGET}"),
    ("get", access.get, f"{_ORIGIN} {_TARGET}"),
    ("accumulate", access.accumulate, f"{_ORIGIN} {_TARGET} op"),
    ("get_accumulate", access.get_accumulate, f"{_ORIGIN} {_RESULT} {_TARGET} op"),
):
    _lenient = _name == "get_accumulate"  # with MPI_NO_OP the origin's datatype means nothing
    bind(f"MPI_{_name.capitalize()}", _function, _inputs, lenient=_lenient)
    bind(f"MPI_R{_name}", access.requested(f"MPI_R{_name}", _function), _inputs, lenient=_lenient)

_ELEMENT = "datatype target_rank target_disp"
bind("MPI_Fetch_and_op", access.fetch_and_op, f"win origin_addr result_addr {_ELEMENT} op")
bind("MPI_Compare_and_swap", access.compare_and_swap, f"win origin_addr compare_addr result_addr {_ELEMENT}")
