"""Buffered sends: the attached buffer, and who occupies it (NP-G8)."""

from typing import TYPE_CHECKING

from ..bus.base import Wait
from ..config import HostCost
from ..device import Operation, SendMode
from .constants import BSEND_OVERHEAD, PROC_NULL
from .errors import ErrorClass, MpiError
from .memory import Scratch, gather_bytes
from .probing import Probing
from .request import Request, SendRequest, hold
from .status import Status

if TYPE_CHECKING:
    from .datatypes import Datatype
    from .progress import Progress


# Bytes of a message that holds its part of the buffer until a receive has taken it, on every device: MPI libraries send long
# messages only once they are asked for, and a program whose buffer is too small must hear of it on each.
LONG = 1 << 14


class SendBuffer:
    """Memory of the program's that buffered sends copy into. Each message takes its size plus BSEND_OVERHEAD, first fit,
    and gives it back when the device has sent it. `address` None is MPI_BUFFER_AUTOMATIC: memory of the library's own."""

    def __init__(self, address: int | None, size: int, progress: "Progress") -> None:
        self.address = address
        self.size = size
        self._progress = progress
        self._used: list[tuple[int, int, Operation]] = []  # (offset, bytes, send), by offset

    def send(
        self, communicator: Probing, call: str, address: int, count: int, datatype: "Datatype", dest: int, tag: int
    ) -> Operation:
        """Copy a message in and start it."""
        size = count * datatype.size
        with self._progress.lock:
            offset, start, scratch = self._place(call, size)
            gather_bytes(address, count, datatype, start)
            communicator.device.charge(HostCost.COPY, size)
            communicator.charge_call()
            held = communicator.device.copies and self.address is not None and size >= LONG
            mode = SendMode.SYNCHRONOUS if held else SendMode.STANDARD
            runs = [(start, size)] if size else []
            operation = communicator.device.send(communicator.route[dest], tag, communicator.context, runs, mode)
            hold(operation, (scratch, communicator))
            self._used.append((offset, size + BSEND_OVERHEAD, operation))
            self._used.sort(key=lambda used: used[0])
        return operation

    def _place(self, call: str, size: int) -> tuple[int, int, object]:
        self._reclaim()
        if self.address is None:
            scratch = Scratch(size)
            return 0, scratch.address, scratch
        offset = self._find(size + BSEND_OVERHEAD)
        if offset is None:  # some sends may have ended without anyone having looked
            self._progress.poll()
            self._reclaim()
            offset = self._find(size + BSEND_OVERHEAD)
        if offset is None:
            raise MpiError(
                ErrorClass.BUFFER,
                f"{call}: a message of {size} bytes needs {size + BSEND_OVERHEAD} bytes in one piece of the attached "
                f"buffer, which has {self.size} bytes and holds {len(self._used)} messages",
            )
        return offset, self.address + offset, None

    def _reclaim(self) -> None:
        self._used = [used for used in self._used if not used[2].done]

    def _find(self, needed: int) -> int | None:
        free = 0
        for offset, size, _ in self._used:
            if offset - free >= needed:
                return free
            free = offset + size
        return free if self.size - free >= needed else None

    # What flushing waits for.

    @property
    def done(self) -> bool:
        return all(operation.done for _, _, operation in self._used)

    def operations(self) -> list[Operation]:
        return [operation for _, _, operation in self._used if not operation.done]

    def why(self) -> Wait:
        return Wait("MPI_Buffer_flush", note=f"{len(self.operations())} buffered sends not yet taken")

    def flush(self) -> None:
        """Wait until every message has left."""
        self._progress.wait(self)
        self._used.clear()


class HasBuffer:
    """What a buffer for buffered sends can be attached to: the process (`World`) or a communicator."""

    progress: "Progress"
    send_buffer: SendBuffer | None
    _attaching = "MPI_Buffer_attach"

    def attach_buffer(self, address: int | None, size: int) -> None:
        """MPI_Buffer_attach, MPI_Comm_attach_buffer; address None is MPI_BUFFER_AUTOMATIC."""
        if self.send_buffer is not None:
            raise MpiError(ErrorClass.BUFFER, f"{self._attaching}: a buffer is attached already")
        self.send_buffer = new_buffer(self._attaching, address, size, self.progress)

    def detach_buffer(self) -> tuple[int | None, int]:
        """MPI_Buffer_detach, MPI_Comm_detach_buffer: (address, size), once all messages have left it."""
        buffer, self.send_buffer = self.send_buffer, None
        return (0, 0) if buffer is None else emptied(buffer)

    def flush_buffer(self) -> None:
        """MPI_Buffer_flush, MPI_Comm_flush_buffer."""
        if self.send_buffer is not None:
            self.send_buffer.flush()

    def iflush_buffer(self) -> Request:
        """MPI_Buffer_iflush, MPI_Comm_iflush_buffer."""
        return FlushRequest(self.progress, self.send_buffer)


class Buffered(Probing, HasBuffer):
    """Buffered sends. A communicator's own buffer goes before the world's."""

    _attaching = "MPI_Comm_attach_buffer"

    def _buffer(self, call: str) -> SendBuffer:
        buffer = self.send_buffer or self.world.send_buffer
        if buffer is None:
            raise MpiError(ErrorClass.BUFFER, f"{call}: no buffer is attached; call MPI_Buffer_attach first")
        return buffer

    def start_buffered(
        self, call: str, address: int, count: int, datatype: "Datatype", dest: int, tag: int
    ) -> Operation | None:
        self.check_buffer(call, address, count, datatype)
        self.check_tag(call, tag)
        if dest == PROC_NULL:
            return None
        self.check_peer(call, "dest", dest)
        return self._buffer(call).send(self, call, address, count, datatype, dest, tag)

    def bsend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> None:
        """MPI_Bsend."""
        self.start_buffered("MPI_Bsend", address, count, datatype, dest, tag)

    def ibsend(self, address: int, count: int, datatype: "Datatype", dest: int, tag: int) -> Request:
        """MPI_Ibsend."""
        return BufferedRequest(
            self, "MPI_Ibsend", self.start_buffered("MPI_Ibsend", address, count, datatype, dest, tag), dest
        )


class FlushRequest(Request):
    """Done when the messages that were in a buffer have left it."""

    call = "MPI_Buffer_iflush"

    def __init__(self, progress: "Progress", buffer: SendBuffer | None) -> None:
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


def new_buffer(call: str, address: int | None, size: int, progress: "Progress") -> SendBuffer:
    """A buffer as attached by `call`."""
    if size < 0:
        raise MpiError(ErrorClass.ARG, f"{call}: size is {size}; it must not be negative")
    if address == 0 and size:
        raise MpiError(ErrorClass.ARG, f"{call}: buffer is a null pointer, but size is {size}")
    return SendBuffer(address, size, progress)


def emptied(buffer: SendBuffer) -> tuple[int | None, int]:
    """(address, size) of a buffer that is detached, once its messages have left."""
    buffer.flush()
    return buffer.address, buffer.size
