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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple, Self

from lanai_firmware.vocabulary import RecordPart, Records, Room, SeenRecord, SeenRequest
from lanai_hdl import ranges
from lanai_hdl.remote.fifo import COUNT_BITS, MOST_RING_PAGES, after

from ...adapter import trace
from ...bus.base import PAGE_SIZE
from ...errors import UserError

# The options of `mbcf`: requests or none (MB-30), and sizes.

RANGES = {
    "greet": (0, 1 << 16),
    "fifo_pages": (1, MOST_RING_PAGES),
    "request_pages": (1, MOST_RING_PAGES),
    "window": (1, 64),
    "ask_from": (0, 1 << 30),
    "alltoall": (0, 1 << 30),
    "direct": (0, 1 << 30),
    "first": (0, 1 << 16),
    "inline": (0, 512),
    "record": (1024, 2048),
    "quiet": (0, 7),
    "timeout": (0, 50_000),
}


@dataclass(frozen=True)
class MbcfOptions:
    """The paper names none of these sizes.

    Attributes:
        requests: receives that come before their messages are announced to the sender (the paper's SR); no: never
            (NSR).
        barrier: barriers of all ranks are remote writes, as in the paper; no: messages.
        greet: ranks of a job up to which each greets all others when it has opened its queues. In a
            larger job a rank greets another one before the first operation that names it, and polls the FIFOs of
            those alone that have greeted or were greeted.
        fifo_pages: of 4 KiB, of the FIFO that holds a peer's messages.
        request_pages: of the FIFO that holds a peer's requests.
        window: requests that a receiver has outstanding at one peer.
        request_list: a sender keeps requests that its message does not match, for later messages; no: it throws
            them away, as in the paper (MB-16), and later ones behind them.
        ask_from: bytes from which a receive is asked for. One of fewer bytes is asked for only
            together with such a one behind it. 0: each receive is, as in the paper.
        alltoall: bytes that a rank sends at a time in an all-to-all (`Choices.alltoall_under_way`). 0:
            all at once.
        gather: the root of a reduce receives all vectors, and an allreduce is that and a broadcast
            (`Choices.reduce_by_gather`); no: trees, and doubling.
        direct: bytes from which a message in one run is written from the program's memory; shorter
            ones are copied first.
        first: bytes of a message of at least eight times as many that leave before the pages of the
            rest are pinned, if it is written from the program's memory and the adapter has nothing
            else to do. 0: the pages of its first 64 KiB are pinned together.
        inline: bytes up to which a message that answers a request rides in the notice; the receiver
            copies it.
        record: bytes of a record in a FIFO, if the adapter's packets hold as many.
        quiet: consecutive records of a message by FIFO that are answered only if they are refused (reply on
            failure), before one that always is; the last one always is. 0: each is answered.
        timeout: microseconds without an answer until packets are sent again. 0: what the fabric needs
            (`on_adapter.timeout_on`).
    """

    requests: bool = True
    barrier: bool = True
    greet: int = 16
    fifo_pages: int = 8
    request_pages: int = 1
    window: int = 32
    request_list: bool = False
    ask_from: int = 65
    alltoall: int = 8192
    gather: bool = False
    direct: int = 2048
    first: int = 4096
    inline: int = 64
    record: int = 2048
    quiet: int = 0
    timeout: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        for name in ("fifo_pages", "request_pages"):
            pages = getattr(self, name)
            if pages & (pages - 1):
                raise UserError(f"MbcfOptions.{name}={pages} must be a power of two")


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


# This device's messages as traces find them in the adapter's packets.

PLACE = struct.Struct(">I4x2x4xBHI")  # of a `Request`: serial, exposure, key, offset
PARTS: dict[int, RecordPart] = {
    Kind.MESSAGE: RecordPart.BEGINS,
    Kind.WRITTEN: RecordPart.WRITTEN,
    Kind.RETURNED: RecordPart.RETURNED,
}


def holds(offset: int, sender: int) -> bool:
    """Return whether control words at this offset are those of the FIFO for messages of `sender`."""
    return offset == _control(sender, Queue.MESSAGES)


def see(words: Sequence[int], length: int) -> SeenRecord:
    """A record that begins with a `Head`."""
    if length < HEAD.size or 4 * len(words) < HEAD.size:
        return SeenRecord(RecordPart.NONE)
    head = Head.unpack(memoryview(struct.pack(f">{len(words)}I", *words)))
    number = head.request if head.kind == Kind.WRITTEN else head.serial
    part = PARTS.get(head.kind, RecordPart.NONE)
    return SeenRecord(part, head.context, head.tag, head.length, length - HEAD.size, number)


def asks(words: Sequence[int], offset: int, sender: int) -> SeenRequest | None:
    """A `Request`, of which not all is known."""
    if offset != _control(sender, Queue.REQUESTS) or 4 * len(words) < PLACE.size:
        return None
    return SeenRequest(*PLACE.unpack_from(struct.pack(f">{len(words)}I", *words)))


def size(behind: int, length: int, plan: Mapping[str, Any]) -> int:
    """Return the bytes of a ring that a record takes, with those that it leaves at the end of a page."""
    payload: int = plan.get("payload", 0)
    return (after(behind, length, payload) - behind) % (1 << COUNT_BITS) if payload else 0


def _control(sender: int, queue: Queue) -> int:
    return sender * PEER_BYTES + queue * BLOCK_BYTES


FIFOS = Room(
    FIFO_ROOM,
    "bytes",
    "bytes of its FIFOs for messages that have come and that it has not taken",
    at_owner=True,
    from_arrival=True,
)
VOCABULARY = replace(trace.VOCABULARY, messages=Records(holds, see, asks, size), rooms=(FIFOS,))
