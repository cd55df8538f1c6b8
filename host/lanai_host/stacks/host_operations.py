"""Operations of devices that match messages and receives on the host."""

from ..body import Body
from ..bus.base import BusError
from ..operation import DeviceError, ErrorKind, Operation


class Send(Operation):
    """`synchronous`: done only when a receive has taken the message."""

    __slots__ = ("body", "context", "dest", "synchronous")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, tag)
        self.dest = dest
        self.context = context
        self.body = body
        self.length = body.size
        self.synchronous = synchronous


class Receive(Operation):
    """`posted`: it waits in the queue. `order` is the queues' to use."""

    __slots__ = ("body", "context", "order", "posted")

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag)
        self.context = context
        self.body = body
        self.order = 0
        self.posted = False


def fail(operation: Operation, kind: ErrorKind, text: str) -> None:
    """End an operation with an error, unless it has ended."""
    if not operation.done:
        operation.error = DeviceError(kind, text)
        operation.done = True


def read_all(send: Send) -> bytes | None:
    """The bytes of a send to this rank itself, which is done unless it is synchronous. None if they
    cannot be read: the send has failed."""
    try:
        data = send.body.read()
    except BusError as error:
        fail(send, ErrorKind.BUS_ERROR, str(error))
        return None
    send.done = not send.synchronous
    return data
