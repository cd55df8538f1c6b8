"""Completion of several requests. A list may hold None (MPI_REQUEST_NULL) and inactive persistent
requests.

Calls that complete several raise MpiError(IN_STATUS) when any failed; its `statuses` hold all of
them.
"""

from collections.abc import Iterable, Sequence

from ..operation import Operation, Wait
from ..orders import ALL, Orders
from .constants import UNDEFINED, Status
from .errors import ErrorClass, MpiError
from .request import Request

Requests = Sequence[Request | None]


class _AnyOf:
    """A `Waitable` that is done when one of several requests is."""

    def __init__(self, call: str, requests: list[Request]) -> None:
        self.requests = requests
        self.call = call

    @property
    def done(self) -> bool:
        return any(request.done for request in self.requests)

    def operations(self) -> list[Operation]:
        gathered: list[Operation] = []
        for request in self.requests:
            operations = request.operations()
            if not operations:
                return []
            gathered.extend(operations)
        return gathered

    def why(self) -> Wait:
        first = self.requests[0].why()
        note = f"one of {len(self.requests)} requests, the first: {first.call} {first.note}"
        awaits = tuple(dict.fromkeys(rank for request in self.requests for rank in request.awaits()))
        every = len(self.requests) == 1 and first.every
        return Wait(self.call, first.peer, first.tag, first.context, note, awaits, every)


class _Missing:
    """The requests that were polled for in vain: `polling.Asks`."""

    def __init__(self, active: list[tuple[int, Request]]) -> None:
        self._active = active

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Missing) and self._active == other._active

    __hash__ = None  # type: ignore[assignment]

    def why(self) -> Wait:
        return next((request for _, request in self._active if not request.done), self._active[0][1]).why()


def _first_done(requests: Requests) -> int | None:
    """The index of the first request that is done: nothing behind it is looked at."""
    for index, request in enumerate(requests):
        if request is not None and request.active and request.done:
            return index
    return None


def _active(requests: Iterable[Request | None]) -> list[tuple[int, Request]]:
    return [(index, request) for index, request in enumerate(requests) if request is not None and request.active]


def _poll_until_done(active: list[tuple[int, Request]], everything: bool) -> bool:
    """Return whether all (or any) are done, after at most one poll of the device."""
    decide = all if everything else any
    progress = active[0][1].progress
    if not decide(request.done for _, request in active):
        progress.poll()
        if not decide(request.done for _, request in active):
            progress.missed(_Missing(active))
            return False
    orders = active[0][1].orders
    if orders is not None and orders.not_yet("MPI_Testall" if everything else "MPI_Testsome"):
        return False
    progress.polls.found()
    return True


def _take_all(call: str, requests: Requests) -> list[Status]:
    statuses: list[Status] = []
    failed: list[Request] = []
    for request in requests:
        if request is None or not request.active:
            statuses.append(Status())
            continue
        status = request.status()
        request.release()
        if status.error is not None:
            failed.append(request)
        statuses.append(status)
    if failed:
        raise _in_status(call, failed, statuses)
    return statuses


def _in_status(call: str, failed: list[Request], statuses: list[Status], indices: Sequence[int] = ()) -> MpiError:
    """The error of several requests; it is for the error handler of the first that failed."""
    first = next(status.error for status in statuses if status.error is not None)
    text = f"{call}: {len(failed)} of {len(statuses)} requests failed, the first: {first}"
    error = MpiError(ErrorClass.IN_STATUS, text, statuses, indices)
    error.place = failed[0].place
    return error


def wait_all(requests: Requests) -> list[Status]:
    """MPI_Waitall."""
    for request in requests:
        if request is not None and request.active and not request.done:
            request.progress.wait(request)
    return _take_all("MPI_Waitall", requests)


def test_all(requests: Requests) -> list[Status] | None:
    """MPI_Testall."""
    active = _active(requests)
    if active and not _poll_until_done(active, everything=True):
        return None
    return _take_all("MPI_Testall", requests)


def wait_any(requests: Requests) -> tuple[int, Status]:
    """MPI_Waitany: (index, status); UNDEFINED if none is active."""
    index = _first_done(requests)
    if index is None:
        active = [request for _, request in _active(requests)]
        if not active:
            return UNDEFINED, Status()
        active[0].progress.wait(_AnyOf("MPI_Waitany", active))
        index = _first_done(requests)
    return _take(requests, _chosen("MPI_Waitany", requests, index))


def test_any(requests: Requests) -> tuple[bool, int, Status]:
    """MPI_Testany: (flag, index, status)."""
    index = _first_done(requests)
    if index is None:
        active = next((request for request in requests if request is not None and request.active), None)
        if active is None:
            return True, UNDEFINED, Status()
        active.progress.poll()
        index = _first_done(requests)
        if index is None:
            active.progress.missed(_Missing(_active(requests)))
            return False, UNDEFINED, Status()
        active.progress.polls.found()
    found = _chosen("MPI_Testany", requests, index)
    first = requests[found]
    if first is not None and first.orders is not None and first.orders.not_yet("MPI_Testany"):
        return False, UNDEFINED, Status()
    return True, *_take(requests, found)


def _chosen(call: str, requests: Requests, index: int | None) -> int:
    """Return which request a call gives of those that are done, `index` being the first of them."""
    assert index is not None
    first = requests[index]
    assert first is not None
    orders = first.orders
    return index if orders is None else orders.one_of(call, [place for place, _ in _settled(first, _active(requests))])


def _settled(first: Request, active: list[tuple[int, Request]]) -> list[tuple[int, Request]]:
    """Return the requests that are done once everything has happened that can happen now."""
    orders, progress = first.orders, first.progress
    if orders is not None:
        with progress.lock:
            orders.settle()
        progress.poll()
    return [(place, request) for place, request in active if request.done]


def _take(requests: Requests, index: int) -> tuple[int, Status]:
    request = requests[index]
    assert request is not None
    try:
        return index, request.finish()
    except MpiError as error:
        error.indices = (index,)
        error.place = request.place
        raise


def wait_some(requests: Requests) -> tuple[list[int], list[Status]] | None:
    """MPI_Waitsome: indices and statuses of what is done; None if none is active."""
    active = _active(requests)
    if not active:
        return None
    active[0][1].progress.wait(_AnyOf("MPI_Waitsome", [request for _, request in active]))
    return _take_some("MPI_Waitsome", active)


def test_some(requests: Requests) -> tuple[list[int], list[Status]] | None:
    """MPI_Testsome: as `wait_some`, perhaps with nothing done."""
    active = _active(requests)
    if not active:
        return None
    if not _poll_until_done(active, everything=False):
        return [], []
    return _take_some("MPI_Testsome", active)


def _take_some(call: str, active: list[tuple[int, Request]]) -> tuple[list[int], list[Status]]:
    indices: list[int] = []
    statuses: list[Status] = []
    failed: list[Request] = []
    orders = active[0][1].orders
    if orders is not None:
        active = _some(call, orders, active)
    for index, request in active:
        if request.done:
            indices.append(index)
            statuses.append(request.status())
            request.release()
            if statuses[-1].error is not None:
                failed.append(request)
    if failed:
        raise _in_status(call, failed, statuses, indices)
    return indices, statuses


def _some(call: str, orders: Orders, active: list[tuple[int, Request]]) -> list[tuple[int, Request]]:
    """Return the requests that a call gives: all that are done, or one of them."""
    done = _settled(active[0][1], active)
    value = orders.one_of(call, [place for place, _ in done], several=True)
    return [(place, request) for place, request in done if value in (ALL, place)]


def get_status_all(requests: Requests) -> list[Status] | None:
    """MPI_Request_get_status_all: the requests live on."""
    active = _active(requests)
    if active and not _poll_until_done(active, everything=True):
        return None
    return [Status() if r is None or not r.active else r.status() for r in requests]


def get_status_any(requests: Requests) -> tuple[bool, int, Status]:
    """MPI_Request_get_status_any."""
    active = _active(requests)
    if not active:
        return True, UNDEFINED, Status()
    if not _poll_until_done(active, everything=False):
        return False, UNDEFINED, Status()
    index, request = next(pair for pair in active if pair[1].done)
    return True, index, request.status()


def get_status_some(requests: Requests) -> tuple[list[int], list[Status]] | None:
    """MPI_Request_get_status_some."""
    active = _active(requests)
    if not active:
        return None
    _poll_until_done(active, everything=False)
    done = [(index, request.status()) for index, request in active if request.done]
    return [index for index, _ in done], [status for _, status in done]


def start_all(requests: Requests) -> None:
    """MPI_Startall."""
    for index, request in enumerate(requests):
        if request is None:
            raise MpiError(ErrorClass.REQUEST, f"MPI_Startall: request {index} is MPI_REQUEST_NULL")
        request.start()
