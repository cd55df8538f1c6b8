"""Operations of devices that match messages and receives on the host."""

from ..body import Body
from ..operation import DeviceError, ErrorKind, Operation


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
