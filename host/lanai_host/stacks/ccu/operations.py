"""Sends and receives under way, and messages on their way here."""

import struct
from dataclasses import dataclass
from enum import IntEnum

from ...body import Body
from ...device import Pending
from ...host_model.operations import Receive
from ...operation import Operation

HEADER = struct.Struct(
    ">BxHiII"
)  # kind, context, tag, length of the message, serial number: in the first packet only (CC-16)


class Kind(IntEnum):
    """The kind of a message."""

    MESSAGE = 0
    SYNCHRONOUS = 1  # to be answered with TAKEN once a receive has it
    TAKEN = 2  # no message: the synchronous one of that serial number was taken


class Send(Operation):
    """A message to some ranks. `offset`: bytes of header and body that are in packets. `serial`:
    nonzero until a receive has taken a synchronous one. `context`: None if it is the answer to a
    synchronous one, which the program has not sent."""

    __slots__ = ("body", "context", "header", "offset", "ranks", "serial")

    def __init__(
        self,
        source: int,
        ranks: tuple[int, ...],
        tag: int,
        context: int | None,
        body: Body,
        header: bytes,
        serial: int = 0,
    ) -> None:
        super().__init__(source, tag)
        self.ranks = ranks
        self.context = context
        self.body = body
        self.length = body.size
        self.header = header
        self.offset = 0
        self.serial = serial

    def next_packet(self, limit: int) -> bytes:
        """The next bytes, at most `limit`. Raises BusError if the program's memory cannot be
        read."""
        begin = max(self.offset - len(self.header), 0)
        head = self.header[self.offset :]
        data = head + self.body.part(begin, begin + limit - len(head)).read()
        self.offset += len(data)
        return data

    def pending(self) -> list[Pending]:
        """Return the part of it that is not done, for each rank."""
        if self.done or self.context is None:
            return []
        return [Pending(True, rank, self.tag, self.context, self.length) for rank in self.ranks]

    @property
    def is_cut(self) -> bool:
        """All bytes are in packets."""
        return self.offset == len(self.header) + self.body.size


@dataclass
class Message:
    """A message that arrives in packets, or has arrived.

    Attributes:
        serial: to be told to the sender when a receive takes it; 0: it does not ask.
        came: bytes that have arrived.
        data: those that came before a receive took it (the local buffer, CC-18).
        receive: that takes it; None: none has yet.
        order: the queues' to use.
    """

    source: int
    tag: int
    context: int
    length: int
    serial: int
    came: int = 0
    data: bytearray | None = None
    receive: Receive | None = None
    order: int = 0

    @property
    def is_whole(self) -> bool:
        return self.came == self.length
