"""Packets of adapters, which no firmware has a part in, and the four ways in which devices send messages by them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from .base import Vocabulary
from .puts import SeenPut


class RecordPart(IntEnum):
    """The part that a record in a FIFO has in a message."""

    BEGINS = 1  # its first bytes are in the record, the others in the next ones
    WRITTEN = 2  # its bytes have been written to where a request said, or are all in the record
    RETURNED = 3  # one that came the other way is cancelled
    NONE = 4


class SeenRecord(NamedTuple):
    """A record by its first words. Messages with the same `context` and `tag` of the same two ranks
    are in the order of their sends. `length`: of the message; `size`: its bytes in the record;
    `number`: of a message that BEGINS or is RETURNED, among those of its sender to this peer; of the
    request that a WRITTEN one answers."""

    part: RecordPart
    context: int = 0
    tag: int = 0
    length: int = 0
    size: int = 0
    number: int = 0


class SeenRequest(NamedTuple):
    """A receive that waits, and where its memory is. `number`: among those of its rank to the peer."""

    number: int
    exposure: int
    key: int
    offset: int


@dataclass(frozen=True)
class Records:
    """The messages of a device that go through FIFOs, of which each rank has two for each peer.

    Attributes:
        holds: whether the FIFO at an offset is for messages of a rank, both as a packet has them.
        size: bytes that a record of so many bytes takes in its FIFO, behind so many others, by the plan of the node
            that has the FIFO. 0: not known.
        see: a record of it by the words that are known and its length, unless it goes on with a
            message.
        asks: the same of the other FIFO; None if a record at an offset of a rank is not in that.
    """

    holds: Callable[[int, int], bool]
    see: Callable[[Sequence[int], int], SeenRecord]
    asks: Callable[[Sequence[int], int, int], SeenRequest | None]
    size: Callable[[int, int, Mapping[str, Any]], int] = lambda behind, length, plan: 0


class ControlPart(IntEnum):
    """The part that a write to another rank's segment has in a message."""

    INSIDE = 1  # all its bytes are in it
    WRITTEN = 2  # all its bytes have been written before
    ASKS = 3  # it waits for ANSWERS
    ANSWERS = 4  # its bytes shall come, and PART will name the place
    PART = 5  # the next `length` bytes have been written before
    BYTES = 6  # of the message of the next WRITTEN or PART
    NONE = 7


class SeenControl(NamedTuple):
    """A write by its first words. `number`: of a message that ASKS, among its sender's. `place`: of
    one that the receiver ANSWERS, among its receiver's."""

    part: ControlPart
    context: int = 0
    tag: int = 0
    length: int = 0
    number: int = 0
    place: int = 0


@dataclass(frozen=True)
class Controls:
    """The messages of a device that go as writes to segments. Each rank has a part for each peer in its
    own.

    Attributes:
        see: a write by the words that are known, its offset, its length, the rank that writes, and
            the plan of the node.
    """

    see: Callable[[Sequence[int], int, int, int, Mapping[str, Any]], SeenControl]


@dataclass(frozen=True)
class Places:
    """The messages of a device that go as puts, whose places give them their meaning (`SeenPut`). A node has one rank.

    Attributes:
        see: a write by the words that are known, its exposure, its offset, its length, the node that writes, and
            the plan of the node.
    """

    see: Callable[[Sequence[int], int, int, int, int, Mapping[str, Any]], SeenPut]


class SeenSend(NamedTuple):
    """A SEND that begins a message. The receiver reads the bytes of an `announced` one from `offset` on in the sender's
    `exposure`."""

    context: int
    tag: int
    announced: bool = False
    length: int = 0
    exposure: int = 0
    key: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Sends:
    """The messages of a device that go as SENDs, which NICs match, and as READs of what was announced.

    Attributes:
        see: a SEND by its offset and the words of its data that are known; None if it begins no message.
    """

    see: Callable[[int, Sequence[int]], SeenSend | None]


class SeenCommand(NamedTuple):
    """A packet, as read from its first words. `process`: whose command it is part of, by its number on the
    source; `owner`: whose memory it is about, by its number on the target. None if the packet does
    not say."""

    source: int  # node
    type: int
    process: int | None = None
    owner: int | None = None


@dataclass(frozen=True)
class Commands(Vocabulary):
    """Packets are requests and replies of adapters that no firmware has a part in. They say which
    process's command they serve.

    Attributes:
        see: a packet by its first words.
        describe: the same as text.
        messages: how the device's messages are known; None: not at all.
    """

    see: Callable[[Sequence[int]], SeenCommand]
    describe: Callable[[Sequence[int]], str]
    messages: Records | Controls | Places | Sends | None = None

    def text(self, words: Sequence[int]) -> str:
        return self.describe(words)
