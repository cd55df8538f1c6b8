"""Completion, cancelling and freeing of requests; partitions."""

import functools
from typing import Any

from ...mpi import completion
from ...mpi.constants import UNDEFINED, Status
from ...mpi.errors import ErrorClass, MpiError
from ...mpi.partitioned import PartitionedRequest
from ...mpi.request import Request
from .. import callbacks, in_c
from ..binding import bind, binding
from ..callbacks import of_program
from ..context import abi

# One request


def _release(pointer: Any, request: Any) -> None:
    """A completion call took the status: the handle of a request that is not persistent ends."""
    if request is not None and not request.persistent:
        abi.requests.remove(pointer[0])
        pointer[0] = abi.requests.null


def _blame(error: MpiError, request: Any) -> None:
    """Errors of a request are its communicator's, its file's or its window's."""
    error.place = request.place


@binding
def MPI_Wait(request: Any) -> Status:
    found = abi.requests[request[0]]
    if found is None:
        return Status()
    try:
        status: Status = found.wait()
    except MpiError as error:
        _blame(error, found)
        _release(request, found)
        raise
    _release(request, found)
    return status


@binding
def MPI_Test(request: Any) -> tuple[bool, Status | None]:
    found = abi.requests[request[0]]
    if found is None:
        return True, Status()
    try:
        status = found.test()
    except MpiError as error:
        _blame(error, found)
        _release(request, found)
        raise
    if status is None:
        return False, None
    _release(request, found)
    return True, status


@binding
def MPI_Request_get_status(request: Any) -> tuple[bool, Status | None]:
    status = Status() if request is None else request.get_status()
    return status is not None, status


@binding
def MPI_Request_free(request: Any) -> None:
    found = real("MPI_Request_free", abi.requests[request[0]])
    found.free()
    if isinstance(found, PartitionedRequest):
        in_c.forget_partitions(request[0])
    abi.requests.remove(request[0])
    request[0] = abi.requests.null


@binding
def MPI_Cancel(request: Any) -> None:
    real("MPI_Cancel", abi.requests[request[0]]).cancel()


@binding
def MPI_Start(request: Any) -> None:
    real("MPI_Start", abi.requests[request[0]]).start()


def real(call: str, request: Any) -> Any:
    if request is None:
        raise MpiError(ErrorClass.REQUEST, f"{call}: request is MPI_REQUEST_NULL")
    return request


# Several requests


def _requests(count: int, pointer: Any) -> list[Request | None]:
    return list(map(abi.requests.__getitem__, abi.ints(pointer, count)))


def _put_statuses(pointer: Any, statuses: Any, failed: bool = False) -> None:
    if pointer == abi.statuses_ignore:
        return
    for index, status in enumerate(statuses):
        abi.put_status(pointer + index, status)
        if failed:
            error = status.error
            pointer[index].MPI_ERROR = 0 if error is None else abi.code_out(abi.world.errors.encode(error))


def _all(function: Any) -> Any:
    """A binding that completes all or none."""

    @functools.wraps(function)
    def call(count: int, array_of_requests: Any, array_of_statuses: Any) -> bool:
        requests = _requests(count, array_of_requests)
        try:
            statuses = function(requests)
        except MpiError as error:
            _put_statuses(array_of_statuses, error.statuses, failed=True)
            if error.statuses:
                _release_all(array_of_requests, requests, range(count))
            raise
        if statuses is None:
            return False
        _put_statuses(array_of_statuses, statuses)
        _release_all(array_of_requests, requests, range(count))
        return True

    return call


def _release_all(pointer: Any, requests: list[Request | None], indices: Any) -> None:
    for index in indices:
        _release(pointer + index, requests[index])


_wait_all = _all(completion.wait_all)
_test_all = _all(completion.test_all)


@binding
def MPI_Waitall(count: int, array_of_requests: Any, array_of_statuses: Any) -> None:
    _wait_all(count, array_of_requests, array_of_statuses)


@binding
def MPI_Testall(count: int, array_of_requests: Any, array_of_statuses: Any) -> bool:
    return bool(_test_all(count, array_of_requests, array_of_statuses))


def _any(array_of_requests: Any, requests: list[Request | None], complete: Any) -> Any:
    try:
        result = complete(requests)
    except MpiError as error:
        for index in error.indices:
            _release(array_of_requests + index, requests[index])
        raise
    index = result[-2]
    if index != UNDEFINED:
        _release(array_of_requests + index, requests[index])
    return result


@binding
def MPI_Waitany(count: int, array_of_requests: Any) -> tuple[int, Status]:
    result: tuple[int, Status] = _any(array_of_requests, _requests(count, array_of_requests), completion.wait_any)
    return result


@binding
def MPI_Testany(count: int, array_of_requests: Any, indx: Any, flag: Any) -> Status | None:
    done, index, status = _any(array_of_requests, _requests(count, array_of_requests), completion.test_any)
    indx[0], flag[0] = index, done
    return status if done else None


def _some(name: str, complete: Any) -> None:
    def call(
        incount: int, array_of_requests: Any, outcount: Any, array_of_indices: Any, array_of_statuses: Any
    ) -> None:
        requests = _requests(incount, array_of_requests)
        try:
            found = complete(requests)
        except MpiError as error:
            _put_some(outcount, array_of_indices, array_of_statuses, error.indices, error.statuses, True)
            _release_all(array_of_requests, requests, error.indices)
            raise
        if found is None:
            outcount[0] = UNDEFINED
            return
        indices, statuses = found
        _put_some(outcount, array_of_indices, array_of_statuses, indices, statuses, False)
        if not name.startswith("MPI_Request"):
            _release_all(array_of_requests, requests, found[0])

    bind(name, call)


def _put_some(outcount: Any, indices: Any, statuses: Any, found: Any, values: Any, failed: bool) -> None:
    outcount[0] = len(found)
    abi.put_ints(indices, found)
    _put_statuses(statuses, values, failed)


_some("MPI_Waitsome", completion.wait_some)
_some("MPI_Testsome", completion.test_some)
_some("MPI_Request_get_status_some", completion.get_status_some)


@binding
def MPI_Request_get_status_all(count: int, array_of_requests: Any, array_of_statuses: Any) -> bool:
    statuses = completion.get_status_all(_requests(count, array_of_requests))
    if statuses is not None:
        _put_statuses(array_of_statuses, statuses)
    return statuses is not None


@binding
def MPI_Request_get_status_any(count: int, array_of_requests: Any, indx: Any, flag: Any) -> Status | None:
    done, index, status = completion.get_status_any(_requests(count, array_of_requests))
    indx[0], flag[0] = index, done
    return status if done else None


@binding
def MPI_Startall(count: int, array_of_requests: Any) -> None:
    completion.start_all(_requests(count, array_of_requests))


# Partitioned


def _range(low: int, high: int) -> list[int]:
    if high < low:
        raise MpiError(
            ErrorClass.ARG, f"MPI_Pready_range: partition_high is {high}; it must not be below partition_low, {low}"
        )
    return list(range(low, high + 1))


bind("MPI_Pready", lambda partition, request: real("MPI_Pready", request).ready([partition]))
bind(
    "MPI_Pready_range",
    lambda partition_low, partition_high, request: real("MPI_Pready_range", request).ready(
        _range(partition_low, partition_high), "MPI_Pready_range"
    ),
)
bind(
    "MPI_Pready_list",
    lambda length, array_of_partitions, request: real("MPI_Pready_list", request).ready(
        abi.ints(array_of_partitions, length), "MPI_Pready_list"
    ),
)
bind("MPI_Parrived", lambda request, partition: request is None or request.arrived(partition))


# Generalized requests: the program says when they are complete.


class _Callbacks:
    """The three functions of the program. Fortran's (see `fortran`) get pointers, and give their
    code through the last one."""

    def __init__(self, query: int, free: int, cancel: int, extra: int) -> None:
        self.fortran = False
        self._query, self._free, self._cancel, self._extra = query, free, cancel, extra

    def _call(self, what: str, address: int, *arguments: tuple[str, Any]) -> None:
        """Call with the extra state and the arguments, given as (type, value)."""
        types, values = [kind for kind, _ in arguments], [value for _, value in arguments]
        if self.fortran:
            code = abi.ffi.new("int *")
            passed = [abi.ffi.new("int *", value) if kind == "int" else value for kind, value in arguments]
            form = ", ".join(["intptr_t", *("int *" if kind == "int" else kind for kind in types), "int *"])
            of_program(f"void (*)({form})", address)(self._extra, *passed, code)
            callbacks.check(code[0], what)
        else:
            form = ", ".join(["intptr_t", *types])
            callbacks.check(of_program(f"int (*)({form})", address)(self._extra, *values), what)

    def query(self, status: Status) -> None:
        room = abi.ffi.new("lanai_status *")
        abi.put_status(room, status)
        self._call("query_fn", self._query, ("lanai_status *", room))
        filled = abi.get_status(room)
        status.source, status.tag = filled.source, filled.tag
        status.count, status.cancelled = filled.count, filled.cancelled

    def free(self) -> None:
        self._call("free_fn", self._free)

    def cancel(self, complete: bool) -> None:
        self._call("cancel_fn", self._cancel, ("int", int(complete)))


@binding
def MPI_Grequest_start(query_fn: int, free_fn: int, cancel_fn: int, extra_state: int) -> Any:
    functions = _Callbacks(query_fn, free_fn, cancel_fn, extra_state)
    request = abi.world.start_generalized(functions.query, functions.free, functions.cancel)
    request.callbacks = functions
    return request


bind("MPI_Grequest_complete", lambda request: real("MPI_Grequest_complete", request).complete())
