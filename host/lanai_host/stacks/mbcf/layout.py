"""The layout of a rank's queues in its memory, and of their records (MB-14).

Each rank has two FIFOs for each peer: one for the peer's requests, one for its messages. They lie in one piece of
memory, which is laid out alike at all ranks:

control     whole pages: of each peer 32 bytes, a block of 16 bytes for each of the two FIFOs. A block
            has the FIFO's control words, then a word that the peer writes. In the block for
            messages it is how often the peer has emptied this rank's FIFO *there* after that had
            refused a record. In the block for requests it is for barriers (`barriers.py`)
requests    the rings of the FIFOs for requests, by peer
messages    the rings of the FIFOs for messages, by peer

The FIFO for messages of the rank itself is for signals, of all ranks.

A message is one record with a `Head` and its first bytes, and further records with nothing but bytes.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Self

from ...bus.base import PAGE_SIZE
from .options import MbcfOptions

BLOCK_BYTES = 16
ROOM_AT = 12  # of a block
PEER_BYTES = 2 * BLOCK_BYTES
ROOM = struct.Struct(">I")
HEAD = struct.Struct(">BBHiIIQ")
REQUEST = struct.Struct(">IIHiBHIQBH")
FIFO_ROOM = "FIFO in use"  # bytes of the ring for messages, as traces show them
SIGNAL = struct.Struct(">I")  # the serial of a synchronous message that its sender wants back


class Queue(IntEnum):
    """The two FIFOs of a peer."""

    REQUESTS = 0
    MESSAGES = 1


@dataclass(frozen=True)
class QueueLayout:
    """Offsets for `ranks` ranks."""

    ranks: int
    options: MbcfOptions

    def control(self, peer: int, queue: Queue) -> int:
        """Offset of the control words of the FIFO that `peer` appends to."""
        return peer * PEER_BYTES + queue * BLOCK_BYTES

    def room(self, peer: int, queue: Queue) -> int:
        """Offset of the word in which `peer` says that its FIFO has room for this rank again."""
        return self.control(peer, queue) + ROOM_AT

    def barrier(self, peer: int) -> int:
        """Offset of the word that `peer` writes for barriers."""
        return self.control(peer, Queue.REQUESTS) + ROOM_AT

    def pages(self, queue: Queue) -> int:
        """Return the pages of the ring of one FIFO."""
        return self.options.fifo_pages if queue is Queue.MESSAGES else self.options.request_pages

    def ring(self, peer: int, queue: Queue) -> int:
        """The first page of a ring: a multiple of its number of pages."""
        first = self._first(Queue.REQUESTS, -(-self.ranks * PEER_BYTES // PAGE_SIZE))
        if queue is Queue.MESSAGES:
            first = self._first(Queue.MESSAGES, first + self.ranks * self.pages(Queue.REQUESTS))
        return first + peer * self.pages(queue)

    def _first(self, queue: Queue, behind: int) -> int:
        return -(-behind // self.pages(queue)) * self.pages(queue)

    @property
    def size(self) -> int:
        return self.ring(self.ranks, Queue.MESSAGES) * PAGE_SIZE


class Kind(IntEnum):
    """The kind of a record that begins with a `Head`."""

    MESSAGE = 1  # its first bytes follow
    WRITTEN = 2  # it has been written to the memory of the request with serial `request`
    MATCHED = 3  # the synchronous message with serial `serial` has met its receive
    RETURNED = 4  # ... has been taken from the messages that wait: it is cancelled


class Head(NamedTuple):
    """First bytes of a record in a FIFO for messages.

    Members:
        synchronous: the receiver answers with MATCHED.
        serial: of a MESSAGE among those by FIFO to this peer (MB-18).
        request: of a MESSAGE, the next request number (MB-20).
        length: of the whole message.
    """

    kind: int
    synchronous: int
    context: int
    tag: int
    serial: int
    request: int
    length: int

    def pack(self) -> bytes:
        return HEAD.pack(*self)

    @classmethod
    def unpack(cls, record: memoryview) -> Self:
        return cls(*HEAD.unpack_from(record))


class Request(NamedTuple):
    """A receive that waits for a message (MB-12).

    Members:
        serial: of the request among those to this peer (MB-19).
        accepted: the serial of the message that was taken from this peer's FIFO last (MB-21).
        tag: may be ANY_TAG.
        exposure, key, offset: of the receive's memory, as commands name it; of no use if `capacity`
            is 0.
        notice_exposure, notice_key: with what WRITTEN is appended.
    """

    serial: int
    accepted: int
    context: int
    tag: int
    exposure: int
    key: int
    offset: int
    capacity: int
    notice_exposure: int
    notice_key: int

    def pack(self) -> bytes:
        return REQUEST.pack(*self)

    @classmethod
    def unpack(cls, record: memoryview) -> Self:
        return cls(*REQUEST.unpack_from(record))
