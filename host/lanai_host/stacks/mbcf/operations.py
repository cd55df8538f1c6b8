"""Sends, receives and messages on their way."""

import ctypes

from ...body import Body, Run
from ...host_model import operations
from ...operation import DeviceError


class Kept(Run):
    """Bytes of the library's own, as a body."""

    def __init__(self, data: bytes) -> None:
        self._memory = ctypes.create_string_buffer(data, len(data) or 1)
        super().__init__(ctypes.addressof(self._memory), len(data))


class Send(operations.Send):
    """A message to `dest`.

    Attributes:
        data: of a message by FIFO that has begun: its bytes.
        copied: how many of them are in records.
        serial: of a message by FIFO; None before it has begun.
        eager: it goes by FIFO whatever requests there are.
        here: of a message by FIFO: its last record is at the peer.
        recalled: the program wants it back.
    """

    __slots__ = ("copied", "data", "eager", "here", "recalled", "serial")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.data = b""
        self.copied = 0
        self.serial: int | None = None
        self.eager = False
        self.here = False
        self.recalled = False


class Receive(operations.Receive):
    """`number`: its place in the program's order."""

    __slots__ = ("number",)

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.number = 0


class Message:
    """A message that comes, or has come, by FIFO. Its bytes go to `receive`, or are kept in `data`.

    Attributes:
        here: bytes of it that have come.
        synchronous: serial that its sender waits to see matched; None if it does not, or has been
            told.
        own_send: the synchronous send of this rank to itself that it is.
        told: a probe has told the program of it.
        failure: why the rest of it does not come.
    """

    __slots__ = (
        "context", "data", "failure", "here", "length", "order", "own_send", "receive", "source", "synchronous", "tag",
        "told",
    )  # fmt: skip

    def __init__(self, source: int, tag: int, context: int, length: int, synchronous: int | None = None) -> None:
        self.source = source
        self.tag = tag
        self.context = context
        self.length = length
        self.synchronous = synchronous
        self.here = 0
        self.order = 0
        self.data: bytearray | None = None
        self.receive: Receive | None = None
        self.own_send: Send | None = None
        self.told = False
        self.failure: DeviceError | None = None

    @property
    def whole(self) -> bool:
        return self.here == self.length
