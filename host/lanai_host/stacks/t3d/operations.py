"""Sends and receives under way."""

from dataclasses import dataclass

from ...body import NOTHING, Body
from ...bus.base import Pinned
from ...host_model import operations
from ...host_model.operations import Receive
from ...scratch_pool import Bytes
from .heap import NONE
from .puts import Window


class Send(operations.Send):
    """`matched`: the flag that the receiver sets; None for sends that need no answer, or have had
    it."""

    __slots__ = ("matched",)

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.matched: int | None = None


@dataclass
class Message:
    """A message that has arrived, or is arriving. `data` has its bytes once it is `whole`.

    Attributes:
        matched: name of the sender's flag to set when a receive takes it; NONE for none.
        own_send: the synchronous send of this rank that it is, which ends then.
        receive: that is to have it once it is whole.
        order: the queues' to use.
    """

    source: int
    tag: int
    context: int
    length: int
    data: bytes | bytearray | memoryview = b""
    whole: bool = True
    matched: int = NONE
    own_send: Send | None = None
    receive: Receive | None = None
    order: int = 0


@dataclass
class Landing:
    """Memory of this process that a long message is written to, in chunks.

    Attributes:
        reply: the sender's reply structure.
        arrival: the number of this rank's word that the sender writes.
        private: where it stands in this rank's private memory, for validation.
        asked: bytes whose names the sender has been told.
        buffer: memory of ours; None: the receive's own memory.
        window: what the sender may put to now; None while the NIC has no room for the next one.
    """

    message: Message
    reply: int
    arrival: int
    address: int
    pinned: Pinned
    private: int
    asked: int = 0
    chunks: int = 0
    buffer: memoryview | None = None
    window: Window | None = None


@dataclass
class LongSend:
    """A long message that leaves when its receiver replies."""

    send: Send
    reply: int  # the number of the reply structure
    body: Body = NOTHING  # the bytes that leave: the message's memory, or that of a copy
    pinned: Pinned | None = None
    packed: Bytes | None = None  # a copy of a message that cannot leave from where it lies
    sent: int = 0  # bytes
    chunks: int = 0  # replies answered
    last: int = 0  # number of the last put
