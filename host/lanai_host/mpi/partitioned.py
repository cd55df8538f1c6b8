"""Partitioned point-to-point requests.

The standard matches partitioned sends and receives of one peer and tag in the order in which they
were initialized, and they may be started in any other order. So MPI_Psend_init sends an
announcement, which holds a number, and MPI_Precv_init receives it: messages with one tag arrive in
the order sent. The bodies travel in a context of their own, with that number as their tag.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..body import Body, Run
from ..c_module import load
from ..device import SendMode
from ..operation import Operation, Wait
from .arguments import check_buffer, check_peer, check_source, check_tag
from .communicator import CALL, Communicator
from .constants import ANY_SOURCE, PROC_NULL, Status
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .memory import Scratch
from .request import PersistentRequest, ReceiveRequest, Request, SendRequest, device_error, hold

# The partitions of a request, counted in C (`partitions.c`), where the C library finds them by the request's
# handle.

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


_NUMBER = np.dtype("<u4")  # of an announcement


class PartitionedRequest(PersistentRequest):
    """A message that the sender fills in parts. It leaves as one when the last part is ready, so
    that parts arrive together; sender and receiver may cut it differently. `begin(request)` starts
    the receive, or the send when filled."""

    def __init__(
        self, communicator: Communicator, call: str, partitions: int, sending: bool, begin: Callable[[], Request]
    ) -> None:
        super().__init__(communicator, call, begin)
        self.count = partitions
        self.partitions = Partitions(partitions, sending)
        self._sending = sending

    def start(self) -> None:
        if self._sending and self.inner is not None:
            raise MpiError(ErrorClass.REQUEST, f"MPI_Start: the request of {self.call} is already active")
        if self._sending:
            self.inner = _Filling(self.progress)
        else:
            super().start()
        self.partitions.start()

    def ready(self, partitions: list[int], call: str = "MPI_Pready") -> None:
        """MPI_Pready, MPI_Pready_range, MPI_Pready_list."""
        filling = type(self.inner) is _Filling
        done, every = self.partitions.mark(partitions) if filling else (0, False)
        if every:
            self.inner = self._begin()
        if done < len(partitions):
            raise self._refusal(partitions[done], call)

    def _refusal(self, partition: int, call: str) -> MpiError:
        """Return why a partition cannot be made ready."""
        if not 0 <= partition < self.count:
            return self._out_of_range(call, partition)
        if type(self.inner) is not _Filling:
            return MpiError(ErrorClass.REQUEST, f"{call}: the request of {self.call} is not a send being filled")
        return MpiError(ErrorClass.ARG, f"{call}: partition {partition} is ready already")

    def arrived(self, partition: int) -> bool:
        """MPI_Parrived."""
        if not 0 <= partition < self.count:
            raise self._out_of_range("MPI_Parrived", partition)
        if self._sending:
            raise MpiError(ErrorClass.REQUEST, "MPI_Parrived: the request is of a send")
        inner = self.inner
        if inner is not None and not inner.done:
            self.progress.poll()
            if not inner.done:
                self.progress.polls.missed(self)
                return False
            self.progress.polls.found()
        self.partitions.arrive()
        return True

    def _out_of_range(self, call: str, partition: int) -> MpiError:
        text = f"{call}: partition is {partition}; it must be from 0 to {self.count - 1}"
        return MpiError(ErrorClass.ARG, text)

    def cancel(self) -> None:
        raise MpiError(ErrorClass.REQUEST, f"MPI_Cancel: a request of {self.call} cannot be cancelled")


class _Filling(Request):
    """Stands for the send until all parts are ready."""

    call = "MPI_Psend_init"

    @property
    def done(self) -> bool:
        return False


class _Announcement:
    """The number under which the partitioned send that matches a receive sends its bodies."""

    def __init__(self, communicator: Communicator, call: str, source: int, tag: int) -> None:
        self.communicator, self.call = communicator, call
        self.source, self.tag = source, tag
        self._room = Scratch(_NUMBER.itemsize)
        with communicator.progress.lock:
            communicator.device.charge(CALL)
            self.operation = communicator.device.receive(
                communicator.route[source],
                tag,
                communicator.partitioned_context,
                Run(self._room.address, _NUMBER.itemsize),
            )
        hold(self.operation, (self._room, communicator))

    @property
    def number(self) -> int:
        return int(self._room.data.view(_NUMBER)[0])


class _PartitionedReceive(Request):
    """One start of a partitioned receive: posted as soon as its announcement is here. Also a task
    of `Progress`."""

    def __init__(self, announcement: _Announcement, body: Body) -> None:
        super().__init__(announcement.communicator.progress)
        self.call = announcement.call
        self._announcement = announcement
        self._body = body
        self._operation: Operation | None = None

    def advance(self) -> bool:
        announced = self._announcement.operation
        if announced.done and announced.error is None:
            communicator = self._announcement.communicator
            communicator.device.charge(CALL)
            self._operation = communicator.device.receive(
                communicator.route[self._announcement.source],
                self._announcement.number,
                communicator.partitions_context,
                self._body,
            )
            hold(self._operation, communicator)
        return announced.done

    @property
    def done(self) -> bool:
        announced, operation = self._announcement.operation, self._operation
        return announced.error is not None if operation is None else operation.done

    def operations(self) -> list[Operation]:
        return [self._operation or self._announcement.operation]

    def why(self) -> Wait:
        found = self._announcement
        comm = found.communicator
        note = f"partitioned receive on {comm.label}"
        return Wait(self.call, found.source, found.tag, comm.context, note, (comm.route[found.source],))

    def status(self) -> Status:
        found = self._announcement
        operation = self._operation or found.operation
        status = Status(found.source, found.tag, operation.length)
        status.sets_error = True
        if operation.error is not None:
            status.error = device_error(self.call, operation.error, operation.length, found.source)
        return status


def psend_init(
    comm: Communicator, address: int, partitions: int, count: int, datatype: Datatype, dest: int, tag: int
) -> PartitionedRequest:
    """MPI_Psend_init. `count` is of one partition."""
    call = "MPI_Psend_init"
    _check_partitions(comm, call, address, partitions, count, datatype, tag)
    if dest != PROC_NULL:
        check_peer(comm, call, "dest", dest)
    body = datatype.body(address, count * partitions)
    number = _announce(comm, dest, tag) if dest != PROC_NULL else 0

    def begin() -> Request:
        if dest == PROC_NULL:
            return SendRequest(comm, call, None, dest, tag)
        with comm.progress.lock:
            comm.device.charge(CALL)
            operation = comm.device.send(comm.route[dest], number, comm.partitions_context, body, SendMode.STANDARD)
        return SendRequest(comm, call, operation, dest, tag)

    return PartitionedRequest(comm, call, partitions, True, begin)


def _announce(comm: Communicator, dest: int, tag: int) -> int:
    """Tell the receiver the number of a new partitioned send."""
    number = comm.partitioned_sends % comm.tag_ub
    comm.partitioned_sends += 1
    number_at = Scratch(_NUMBER.itemsize)
    number_at.data.view(_NUMBER)[0] = number
    with comm.progress.lock:
        comm.device.charge(CALL)
        operation = comm.device.send(
            comm.route[dest],
            tag,
            comm.partitioned_context,
            Run(number_at.address, _NUMBER.itemsize),
            SendMode.STANDARD,
        )
        hold(operation, (number_at, comm))
    return number


def precv_init(
    comm: Communicator, address: int, partitions: int, count: int, datatype: Datatype, source: int, tag: int
) -> PartitionedRequest:
    """MPI_Precv_init. `count` is of one partition; wildcards are not allowed."""
    call = "MPI_Precv_init"
    _check_partitions(comm, call, address, partitions, count, datatype, tag)
    if source == ANY_SOURCE:
        raise MpiError(ErrorClass.RANK, f"{call}: source is MPI_ANY_SOURCE, which is not allowed here")
    check_source(comm, call, source)
    body = datatype.body(address, count * partitions)
    announcement = _Announcement(comm, call, source, tag) if source != PROC_NULL else None

    def begin() -> Request:
        if announcement is None:
            return ReceiveRequest(comm, call, None, source, datatype)
        receive = _PartitionedReceive(announcement, body)
        comm.progress.start(receive)
        return receive

    return PartitionedRequest(comm, call, partitions, False, begin)


def _check_partitions(
    comm: Communicator, call: str, address: int, partitions: int, count: int, datatype: Datatype, tag: int
) -> None:
    if partitions < 1:
        raise MpiError(ErrorClass.ARG, f"{call}: partitions is {partitions}; it must be at least 1")
    check_buffer(call, address, count, datatype)
    check_tag(comm, call, tag)
