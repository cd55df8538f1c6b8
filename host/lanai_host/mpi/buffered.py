"""Buffered sends, and the buffers that programs attach for them (NP-G8)."""

from typing import Protocol

from ..body import Run
from ..config import HostCost
from ..device import SendMode
from ..operation import Operation
from .arguments import check_send
from .buffers import gather_bytes
from .communicator import CALL, Communicator
from .constants import PROC_NULL, Status
from .datatypes import Datatype
from .errors import ErrorClass, MpiError
from .progress import Progress
from .request import PersistentRequest, Request, SendRequest, hold
from .send_buffer import SendBuffer

# Bytes of a message that holds its part of the buffer until a receive has taken it, on every
# device: MPI libraries send long messages only once they are asked for, and a program whose buffer
# is too small must hear of it on each.
LONG = 1 << 14


class Owner(Protocol):
    """An object that a buffer can be attached to: the process, a communicator, a session."""

    send_buffer: SendBuffer | None

    @property
    def progress(self) -> Progress: ...


def attach(owner: Owner, address: int | None, size: int, call: str = "MPI_Buffer_attach") -> None:
    """MPI_Buffer_attach, MPI_Comm_attach_buffer; address None is MPI_BUFFER_AUTOMATIC."""
    if owner.send_buffer is not None:
        raise MpiError(ErrorClass.BUFFER, f"{call}: a buffer is attached already")
    if size < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: size is {size}; it must not be negative")
    if address == 0 and size:
        raise MpiError(ErrorClass.ARG, f"{call}: buffer is a null pointer, but size is {size}")
    owner.send_buffer = SendBuffer(address, size, owner.progress)


def detach(owner: Owner) -> tuple[int | None, int]:
    """MPI_Buffer_detach, MPI_Comm_detach_buffer: (address, size), once all messages have left
    it."""
    buffer, owner.send_buffer = owner.send_buffer, None
    if buffer is None:
        return 0, 0
    buffer.flush()
    return buffer.address, buffer.size


def flush(owner: Owner) -> None:
    """MPI_Buffer_flush, MPI_Comm_flush_buffer."""
    if owner.send_buffer is not None:
        owner.send_buffer.flush()


def iflush(owner: Owner) -> Request:
    """MPI_Buffer_iflush, MPI_Comm_iflush_buffer."""
    return FlushRequest(owner.progress, owner.send_buffer)


class FlushRequest(Request):
    """Done when the messages that were in a buffer have left it."""

    call = "MPI_Buffer_iflush"

    def __init__(self, progress: Progress, buffer: SendBuffer | None) -> None:
        super().__init__(progress)
        self._operations = [] if buffer is None else buffer.operations()

    @property
    def done(self) -> bool:
        return all(operation.done for operation in self._operations)

    def operations(self) -> list[Operation]:
        return [operation for operation in self._operations if not operation.done]


class BufferedRequest(SendRequest):
    """A buffered send is done once copied; cancelling it may still catch the message."""

    @property
    def done(self) -> bool:
        return True

    def status(self) -> Status:
        return Status(cancelled=self.operation is not None and self.operation.cancelled)


def bsend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> None:
    """MPI_Bsend."""
    _start(comm, "MPI_Bsend", address, count, datatype, dest, tag)


def ibsend(comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int) -> Request:
    """MPI_Ibsend."""
    call = "MPI_Ibsend"
    return BufferedRequest(comm, call, _start(comm, call, address, count, datatype, dest, tag), dest)


def bsend_init(
    comm: Communicator, address: int, count: int, datatype: Datatype, dest: int, tag: int
) -> PersistentRequest:
    """MPI_Bsend_init."""
    call = "MPI_Bsend_init"
    check_send(comm, call, address, count, datatype, dest, tag)

    def begin() -> Request:
        return BufferedRequest(comm, call, _start(comm, call, address, count, datatype, dest, tag), dest)

    return PersistentRequest(comm, call, begin)


def _start(
    comm: Communicator, call: str, address: int, count: int, datatype: Datatype, dest: int, tag: int
) -> Operation | None:
    """Check the arguments, copy the message and start it. A communicator's own buffer goes before
    its session's, and that before the process's."""
    check_send(comm, call, address, count, datatype, dest, tag)
    if dest == PROC_NULL:
        return None
    of_session = None if comm.session is None else comm.session.send_buffer
    buffer = comm.send_buffer or of_session or comm.process.send_buffer
    if buffer is None:
        raise MpiError(ErrorClass.BUFFER, f"{call}: no buffer is attached; call MPI_Buffer_attach first")
    size = count * datatype.size
    device = comm.device
    if count:
        comm.process.seen_types.add(True, comm.context, comm.route[dest], tag, datatype.signature)
    with comm.lock:
        offset, start, scratch = buffer.place(call, size)
        gather_bytes(address, count, datatype, start, size)
        device.charge(HostCost.COPY, size)
        device.charge(CALL)
        held = device.copies and buffer.address is not None and size >= LONG
        mode = SendMode.SYNCHRONOUS if held else SendMode.STANDARD
        operation = device.send(comm.route[dest], tag, comm.context, Run(start, size), mode)
        hold(operation, (scratch, comm))
        buffer.occupy(offset, size, operation)
    return operation
