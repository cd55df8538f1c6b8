"""Requests: what a non-blocking call leaves behind, until a completion call takes its status."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ..operation import DeviceError, ErrorKind, Operation, Wait
from ..orders import Orders
from .communicator import Communicator
from .constants import ANY_TAG, PROC_NULL, Status
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .progress import Progress


class Request(ABC):
    """The state machine that all kinds share: active, then done, then released by the completion
    call.

    Subclasses give `done`, `operations`, `why` (see `progress.Waitable`) and `status`. A request
    that is not `persistent` is dead once released; a persistent one is inactive (`active` is False)
    until started again.
    """

    persistent = False
    call = "MPI_Wait"
    communicator: Communicator | None = None

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    @property
    def orders(self) -> Orders | None:
        """The choices of this process; None if nobody explores them."""
        return self.progress.device.orders

    @property
    def place(self) -> object:
        """The object whose error handler is called for its failures."""
        return self.communicator

    @property
    def active(self) -> bool:
        return True

    @property
    @abstractmethod
    def done(self) -> bool:
        """True if a completion call may take the status."""

    def operations(self) -> list[Operation]:
        return []

    def why(self) -> Wait:
        return Wait(self.call)

    def awaits(self) -> tuple[int, ...]:
        """The ranks of the world that `why` names: asked alone where there are many requests."""
        return self.why().awaits

    def status(self) -> Status:
        """Return the status of a request that is done. A failure is in `Status.error`."""
        return Status()

    def release(self) -> None:  # noqa: B027  # few kinds have anything to do
        """The completion call has taken the status."""

    def finish(self) -> Status:
        """Status of a done request, which is released; raises its error."""
        status = self.status()
        self.release()
        if status.error is not None:
            raise status.error
        return status

    def wait(self) -> Status:
        """MPI_Wait. Raises what made the operation fail."""
        if not self.active:
            return Status()
        self.progress.wait(self)
        return self.finish()

    def test(self) -> Status | None:
        """MPI_Test: the status if done."""
        if not self.active:
            return Status()
        if not self._found_done():
            return None
        if self.orders is not None and self.orders.not_yet("MPI_Test"):
            return None
        self.progress.polls.found()
        return self.finish()

    def get_status(self) -> Status | None:
        """MPI_Request_get_status: as `test`, but the request lives on."""
        if not self.active:
            return Status()
        if not self._found_done():
            return None
        self.progress.polls.found()
        return self.status()

    def _found_done(self) -> bool:
        """Look once, which lets the library move on if the operation is not done."""
        if not self.done:
            self.progress.poll()
            if not self.done:
                self.progress.missed(self)
                return False
        return True

    def cancel(self) -> None:
        """MPI_Cancel."""
        raise MpiError(ErrorClass.REQUEST, f"MPI_Cancel: a request of {self.call} cannot be cancelled")

    def start(self) -> None:
        """MPI_Start."""
        raise MpiError(ErrorClass.REQUEST, f"MPI_Start: a request of {self.call} is not persistent")

    def free(self) -> None:  # noqa: B027  # likewise
        """MPI_Request_free: the operation itself goes on, and holds what it needs."""


def hold(operation: Operation | None, needed: object) -> None:
    """`needed` lives as long as the operation. A communicator does, so that its context number is
    not used again."""
    if operation is not None and not operation.done:
        operation.keep = needed if operation.keep is None else (operation.keep, needed)


def device_error(call: str, error: DeviceError, length: int, peer: int) -> MpiError:
    """A device's failure in MPI's terms."""
    if error.kind is ErrorKind.TRUNCATED:
        return MpiError(
            ErrorClass.TRUNCATE,
            f"{call}: the message from rank {peer} is longer than the receive buffer of {length} bytes "
            f"{error.text}".rstrip(),
        )
    if error.kind is ErrorKind.PEER_FAILED:
        lost = f"rank {peer} has gone" if peer >= 0 else "a rank that could have sent has gone"
        return MpiError(ErrorClass.PROC_ABORTED, f"{call}: {lost}: {error.text}".rstrip(": "))
    if error.kind is ErrorKind.RANK_LOST:
        return MpiError(ErrorClass.PROC_ABORTED, f"{call}: {error.text}")
    if error.kind is ErrorKind.BUS_ERROR:
        return MpiError(ErrorClass.BUFFER, f"{call}: {error.text}")
    if error.kind is ErrorKind.DAMAGED:
        return MpiError(ErrorClass.OTHER, f"{call}: the message from rank {peer} came without its data: {error.text}")
    if error.kind is ErrorKind.NIC_LOST:
        return MpiError(ErrorClass.OTHER, f"{call}: {error.text or 'the NIC is lost'}")
    if error.kind is ErrorKind.NOT_READY:
        return MpiError(ErrorClass.OTHER, f"{call}: rank {peer} had not posted the receive that a ready send needs")
    reason = error.kind.name.lower().replace("_", " ")
    return MpiError(ErrorClass.OTHER, f"{call}: {reason} on the way to or from rank {peer} {error.text}".rstrip())


def check_elements(call: str, length: int, datatype: Datatype, source: int) -> MpiError | None:
    """The error of a message whose bytes are not whole elements of the datatype that it is received as."""
    if not datatype.size or length % datatype.size == 0 or datatype.whole_elements(length) is not None:
        return None
    return MpiError(
        ErrorClass.TYPE,
        f"{call}: the message from rank {source} has {length} bytes, which are not whole elements of the datatype "
        f"{datatype.name!r}",
    )


class SendRequest(Request):
    """A send on the device. `operation` None is a send to MPI_PROC_NULL, which is done at once. `tag`
    is the program's, where the operation may not have it."""

    def __init__(
        self, communicator: Communicator, call: str, operation: Operation | None, peer: int, tag: int | None = None
    ) -> None:
        self.progress = communicator.progress
        self.communicator: Communicator = communicator
        self.call = call
        self.operation = operation
        self.peer = peer
        self.tag = tag

    @property
    def done(self) -> bool:
        return self.operation is None or self.operation.done

    def operations(self) -> list[Operation]:
        return [] if self.operation is None else [self.operation]

    def why(self) -> Wait:
        note = f"send on {self.communicator.label}"
        return Wait(self.call, self.peer, self.tag, self.communicator.context, note, self.awaits())

    def awaits(self) -> tuple[int, ...]:
        return (self.communicator.route[self.peer],) if self.peer >= 0 else ()

    def status(self) -> Status:
        operation = self.operation
        if operation is None:
            return Status()
        status = Status(cancelled=operation.cancelled)
        if operation.error is not None and not operation.cancelled:
            status.error = device_error(self.call, operation.error, operation.length, self.peer)
        return status

    def cancel(self) -> None:
        if self.operation is not None and not self.operation.done:
            with self.progress.lock:
                self.progress.device.cancel(self.operation)

    def free(self) -> None:
        hold(self.operation, self.communicator)


class ReceiveRequest(SendRequest):
    """A receive on the device of elements of `datatype`. `operation` None is one from MPI_PROC_NULL."""

    def __init__(
        self, communicator: Communicator, call: str, operation: Operation | None, peer: int, datatype: Datatype
    ) -> None:
        self.progress = communicator.progress
        self.communicator = communicator
        self.call = call
        self.operation = operation
        self.peer = peer
        self.tag = None
        self.datatype = datatype

    def why(self) -> Wait:
        operation = self.operation
        tag = None if operation is None or operation.tag < 0 else operation.tag
        peer = None if self.peer < 0 else self.peer
        comm = self.communicator
        note = f"receive on {comm.label}"
        return Wait(self.call, peer, tag, comm.context, note, self.awaits(), every=peer is not None)

    def awaits(self) -> tuple[int, ...]:
        comm = self.communicator
        return comm.others() if self.peer < 0 else (comm.route[self.peer],)

    def status(self) -> Status:
        operation = self.operation
        if operation is None:
            return Status(PROC_NULL, ANY_TAG)
        if operation.cancelled:
            return Status(cancelled=True)
        if (orders := self.orders) is not None:
            orders.received(operation)
        source = self.communicator.remote_group.position(operation.source)
        status = Status(source, operation.tag, operation.length)
        if operation.length:
            comm = self.communicator
            comm.process.seen_types.add(False, comm.context, operation.source, operation.tag, self.datatype.signature)
        if operation.error is not None:
            status.error = device_error(self.call, operation.error, operation.length, source)
        else:
            status.error = check_elements(self.call, operation.length, self.datatype, source)
        return status


class PersistentRequest(Request):
    """A call that can be started again and again; each start makes an inner request. None while
    inactive."""

    persistent = True

    def __init__(self, communicator: Communicator, call: str, begin: Callable[[], Request]) -> None:
        super().__init__(communicator.progress)
        self.communicator = communicator
        self.call = call
        self._begin = begin
        self.inner: Request | None = None

    @property
    def active(self) -> bool:
        return self.inner is not None

    @property
    def done(self) -> bool:
        return self.inner is None or self.inner.done

    def operations(self) -> list[Operation]:
        return [] if self.inner is None else self.inner.operations()

    def why(self) -> Wait:
        return Wait(self.call) if self.inner is None else self.inner.why()

    def status(self) -> Status:
        return Status() if self.inner is None else self.inner.status()

    def release(self) -> None:
        self.inner = None

    def start(self) -> None:
        if self.inner is not None:
            raise MpiError(ErrorClass.REQUEST, f"MPI_Start: the request of {self.call} is already active")
        self.inner = self._begin()

    def free(self) -> None:
        if self.inner is not None:
            self.inner.free()

    def cancel(self) -> None:
        if self.inner is None:
            raise MpiError(ErrorClass.REQUEST, f"MPI_Cancel: the request of {self.call} is not active")
        self.inner.cancel()
