"""This device's messages as traces find them in the adapter's packets."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lanai_firmware.vocabulary import RecordPart, Records, Room, SeenRecord, SeenRequest
from lanai_hdl.remote.fifo import COUNT_BITS, after

from ...adapter import trace
from .layout import BLOCK_BYTES, FIFO_ROOM, HEAD, PEER_BYTES, Head, Kind, Queue

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
