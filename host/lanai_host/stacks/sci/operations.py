"""Sends and receives under way, and messages that have arrived."""

from dataclasses import dataclass

from ... import process_memory
from ...body import Body, Run
from ...host_model import operations
from ...host_model.operations import Send
from .packets import Kind


class Receive(operations.Receive):
    """`wanted_source`: the source that the program asked for."""

    __slots__ = ("wanted_source",)

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.wanted_source = source


@dataclass
class Message:
    """A message that has arrived, or of which the sender has told.

    Attributes:
        kind: SHORT, whose bytes are `data`; EAGER, which lies in eager slot `slot`; REQUEST, which
            waits at its sender.
        number: of the send, for the answer that it waits for; 0 if it waits for none.
        own_send: the synchronous send of this rank that it is.
        order: the queues' to use.
    """

    kind: Kind
    source: int
    tag: int
    context: int
    length: int
    number: int = 0
    slot: int = 0
    data: bytes = b""
    own_send: Send | None = None
    order: int = 0


@dataclass
class Arriving:
    """A message that comes in chunks. `wanted`: bytes that its receive takes, of which `got` are
    there. `packed`: where they are gathered first, if they are."""

    receive: Receive
    message: Message
    wanted: int
    packed: bytearray | None = None
    got: int = 0


@dataclass
class Leaving:
    """A message whose receiver is ready. `number`: of the receive there; `wanted` bytes go, of
    which `begun` have been put."""

    send: Send
    body: Body
    number: int
    wanted: int
    begun: int = 0


class Held(Run):
    """Bytes of the library's own. They live as long as the body."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        super().__init__(process_memory.address_of(data), len(data))
