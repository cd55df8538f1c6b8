"""Operations on a target's memory, and the requests of their R forms."""

from collections.abc import Callable
from typing import Any

from ...operation import Operation, Wait
from ..buffers import check_address
from ..communicator import CALL
from ..constants import LockType, Status
from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError
from ..op import Op
from ..request import Request
from . import target as combining
from .way import Buffer, Place, Transfer
from .window import Window, in_one_turn


class OneSidedRequest(Request):
    """A request of MPI_Rput and its kin. `transfer` None: the target was MPI_PROC_NULL, or there
    was nothing to move."""

    def __init__(self, window: Window, call: str, transfer: Transfer | None) -> None:
        super().__init__(window.progress)
        self._window = window
        self.call = call
        self._transfer = transfer

    @property
    def place(self) -> Window:
        return self._window

    @property
    def done(self) -> bool:
        return self._transfer is None or self._transfer.done

    def operations(self) -> list[Operation]:
        return [] if self._transfer is None else self._transfer.operations()

    def why(self) -> Wait:
        return Wait(self.call) if self._transfer is None else self._transfer.why()

    def status(self) -> Status:
        return Status(error=None if self._transfer is None else self._transfer.error(self.call))


def _buffer(call: str, name: str, address: int, count: int, datatype: Datatype) -> Buffer:
    """Memory of the origin's; `name` is the beginning of its arguments' names."""
    if count < 0:
        raise MpiError(ErrorClass.COUNT, f"{call}: {name}_count is {count}; it must not be negative")
    if not datatype.committed:
        raise MpiError(ErrorClass.TYPE, f"{call}: the datatype {datatype.name!r} is not committed")
    if address <= 0 and count:
        check_address(call, f"{name}_addr", address, count, datatype)
    return Buffer(address, count, datatype)


def _target(
    window: Window, call: str, rank: int, displacement: int, count: int, datatype: Datatype, basic: int | None = None
) -> Place | None:
    """Return the target of an operation, once the window is in an epoch that allows it; None for MPI_PROC_NULL."""
    with window.progress.lock:
        window.device.charge(CALL)
    if count < 0:
        raise MpiError(ErrorClass.COUNT, f"{call}: target_count is {count}; it must not be negative")
    if not datatype.committed:
        raise MpiError(ErrorClass.TYPE, f"{call}: the datatype {datatype.name!r} is not committed")
    if not window.check_rank(call, rank, "target_rank"):
        return None
    window.epochs.use(call, rank, window.communicator.route[rank])
    if window.epochs.locks.get(rank) is not LockType.EXCLUSIVE:
        window.await_others(call)
    offset = window.place(call, rank, displacement, count, datatype)
    if window.epochs.access is not None:
        window.way.await_post(call, rank)
    elif window.epochs.all and window.epochs.checked and rank not in window.epochs.reached:
        window.epochs.reached.add(rank)
        window.way.lock(call, rank, LockType.SHARED)
    if basic is None:
        return Place(rank, offset, count, datatype)
    return Place(rank, offset, count, datatype, basic)


def _fits(call: str, source: int, room: int) -> None:
    if source > room:
        raise MpiError(ErrorClass.TRUNCATE, f"{call}: {source} bytes do not fit into {room} at the other end")


@in_one_turn
def put(
    window: Window,
    address: int,
    count: int,
    datatype: Datatype,
    target_rank: int,
    target_disp: int,
    target_count: int,
    target_type: Datatype,
    call: str = "MPI_Put",
) -> Transfer | None:
    """MPI_Put."""
    origin = _buffer(call, "origin", address, count, datatype)
    target = _target(window, call, target_rank, target_disp, target_count, target_type)
    if target is None:
        return None
    _fits(call, origin.size, target.size)
    return window.way.put(call, origin, target) if origin.size else None


@in_one_turn
def get(
    window: Window,
    address: int,
    count: int,
    datatype: Datatype,
    target_rank: int,
    target_disp: int,
    target_count: int,
    target_type: Datatype,
    call: str = "MPI_Get",
) -> Transfer | None:
    """MPI_Get."""
    origin = _buffer(call, "origin", address, count, datatype)
    target = _target(window, call, target_rank, target_disp, target_count, target_type)
    if target is None:
        return None
    _fits(call, target.size, origin.size)
    return window.way.get(call, origin, target) if target.size else None


@in_one_turn
def accumulate(
    window: Window,
    address: int,
    count: int,
    datatype: Datatype,
    target_rank: int,
    target_disp: int,
    target_count: int,
    target_type: Datatype,
    op: Op,
    call: str = "MPI_Accumulate",
) -> Transfer | None:
    """MPI_Accumulate."""
    origin = _buffer(call, "origin", address, count, datatype)
    basic = combining.check(call, op, target_count, target_type)
    target = _target(window, call, target_rank, target_disp, target_count, target_type, basic)
    if target is None:
        return None
    _fits(call, origin.size, target.size)
    return window.way.accumulate(call, origin, target, op) if origin.size else None


@in_one_turn
def get_accumulate(
    window: Window,
    address: int,
    count: int,
    datatype: Datatype,
    result_address: int,
    result_count: int,
    result_type: Datatype,
    target_rank: int,
    target_disp: int,
    target_count: int,
    target_type: Datatype,
    op: Op,
    call: str = "MPI_Get_accumulate",
) -> Transfer | None:
    """MPI_Get_accumulate. With MPI_NO_OP the origin's buffer is not looked at."""
    basic = combining.check(call, op, target_count, target_type, fetching=True)
    origin = Buffer(0, 0, target_type) if op is combining.NO_OP else _buffer(call, "origin", address, count, datatype)
    result = _buffer(call, "result", result_address, result_count, result_type)
    target = _target(window, call, target_rank, target_disp, target_count, target_type, basic)
    if target is None:
        return None
    _fits(call, origin.size, target.size)
    _fits(call, target.size, result.size)
    return window.way.get_accumulate(call, origin, result, target, op) if target.size else None


@in_one_turn
def fetch_and_op(
    window: Window, address: int, result: int, datatype: Datatype, target_rank: int, target_disp: int, op: Op
) -> Transfer | None:
    """MPI_Fetch_and_op."""
    call = "MPI_Fetch_and_op"
    if not datatype.predefined:
        raise MpiError(ErrorClass.TYPE, f"{call}: the datatype {datatype.name!r} is not predefined")
    element = (1, datatype)
    return get_accumulate(window, address, *element, result, *element, target_rank, target_disp, *element, op, call)


@in_one_turn
def compare_and_swap(
    window: Window,
    origin: int,
    compare: int,
    result: int,
    datatype: Datatype,
    target_rank: int,
    target_disp: int,
) -> Transfer | None:
    """MPI_Compare_and_swap."""
    call = "MPI_Compare_and_swap"
    basic = combining.check_swap(call, datatype)
    buffers = [
        _buffer(call, name, address, 1, datatype)
        for name, address in (("origin", origin), ("compare", compare), ("result", result))
    ]
    target = _target(window, call, target_rank, target_disp, 1, datatype, basic)
    return None if target is None else window.way.compare_and_swap(call, buffers[0], buffers[1], buffers[2], target)


def requested(call: str, function: Callable[..., Transfer | None]) -> Callable[..., OneSidedRequest]:
    """The R form of an operation, which passive epochs have."""

    def begin(window: Window, *arguments: Any) -> OneSidedRequest:
        window.epochs.request(call)
        return OneSidedRequest(window, call, function(window, *arguments, call=call))

    return begin
