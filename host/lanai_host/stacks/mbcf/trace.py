"""This device's messages as traces find them in the adapter's packets."""

import struct
from collections.abc import Sequence
from dataclasses import replace

from lanai_firmware.programs.vocabulary import RecordPart, Records, SeenRecord, SeenRequest

from ...adapter import trace
from .layout import BLOCK_BYTES, HEAD, PEER_BYTES, Head, Kind, Queue

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


def _control(sender: int, queue: Queue) -> int:
    return sender * PEER_BYTES + queue * BLOCK_BYTES


VOCABULARY = replace(trace.VOCABULARY, messages=Records(holds, see, asks))
