"""A send and a receive under way, and what a record says of their end."""

from lanai_firmware.programs.mpi_np.layout import Error

from ...body import Body
from ...bus.base import BusError
from ...device import Pending, SendMode
from ...host_model import meter
from ...operation import DeviceError, ErrorKind, Operation
from .memory import Hold

NO_ERROR = int(Error.OK)
ERRORS = {
    Error.TRUNCATED: ErrorKind.TRUNCATED,
    Error.BAD_ADDRESS: ErrorKind.BUS_ERROR,
    Error.BUS: ErrorKind.BUS_ERROR,
    Error.PEER_FAILED: ErrorKind.PEER_FAILED,
    Error.DAMAGED: ErrorKind.DAMAGED,
}


class Send(Operation):
    """A send under way."""

    __slots__ = ("body", "context", "dest", "hold", "mode", "size")

    def __init__(self, rank: int, dest: int, tag: int, context: int, body: Body, mode: SendMode) -> None:
        super().__init__(rank, tag)
        self.dest = dest
        self.context = context
        self.body = body
        self.size = body.size
        self.mode = mode
        self.hold: Hold | None = None


class Receive(meter.Receive):
    """A receive under way."""

    __slots__ = ("hold", "index", "number", "placed", "wanted_source", "wanted_tag")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.wanted_source = source
        self.wanted_tag = tag
        self.placed = False  # on the NIC
        self.index = -1  # of its receive entry there
        self.number = 0  # by which the NIC reports it
        self.hold: Hold | None = None


def described(operation: Send | Receive) -> Pending:
    """An operation under way, for a report."""
    if isinstance(operation, Send):
        return Pending(True, operation.dest, operation.tag, operation.context, operation.size)
    source, tag = operation.wanted_source, operation.wanted_tag
    return Pending(False, source, tag, operation.context, operation.body.size)


def failure(error: int, operation: Operation, total: int) -> DeviceError | None:
    """A record's error as the device's, for the operation that ends with it. A truncated message has
    `total` bytes."""
    if error == NO_ERROR:
        return None
    kind = ERRORS.get(Error(error), ErrorKind.BAD_REQUEST)
    if kind is ErrorKind.DAMAGED:
        return DeviceError(kind, "its buffer could not be read, or the link damaged the body")
    if kind is ErrorKind.BUS_ERROR:
        return DeviceError(kind, str(unreachable(operation)))
    if kind is ErrorKind.TRUNCATED:
        return DeviceError(kind, f"(it has {total} bytes)")
    return DeviceError(kind, f"the NIC reports {Error(error).name}")


def unreachable(operation: Operation) -> BusError:
    """The error that names the operation's buffer, which the NIC found that it cannot reach."""
    if isinstance(operation, Send):
        return operation.body.unreadable()
    assert isinstance(operation, Receive)
    return operation.body.unwritable()


def finish(operation: Operation) -> None:
    """Nothing will change any more."""
    operation.done = True
    if isinstance(operation, Send) and operation.error is None:
        operation.length = operation.size


def fail(operation: Operation, kind: ErrorKind, text: str) -> None:
    """The operation ends with an error."""
    operation.error = DeviceError(kind, text)
    finish(operation)
