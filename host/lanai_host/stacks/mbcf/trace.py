"""What the adapter's packets tell of this device's messages, for traces."""

import struct
from collections.abc import Sequence
from dataclasses import replace

from lanai_firmware.programs.vocabulary import RecordPart, Records, SeenRecord

from ...adapter import trace
from .layout import BLOCK_BYTES, HEAD, PEER_BYTES, Head, Kind, Queue

PARTS: dict[int, RecordPart] = {
    Kind.MESSAGE: RecordPart.BEGINS,
    Kind.WRITTEN: RecordPart.WRITTEN,
    Kind.RETURNED: RecordPart.RETURNED,
}


def holds(offset: int, sender: int) -> bool:
    """Whether control words at this offset are those of the FIFO for messages of `sender`."""
    return offset == sender * PEER_BYTES + Queue.MESSAGES * BLOCK_BYTES


def see(words: Sequence[int], length: int) -> SeenRecord:
    """A record that begins with a `Head`."""
    if length < HEAD.size or 4 * len(words) < HEAD.size:
        return SeenRecord(RecordPart.NONE)
    head = Head.unpack(memoryview(struct.pack(f">{len(words)}I", *words)))
    part = PARTS.get(head.kind, RecordPart.NONE)
    return SeenRecord(part, head.context, head.tag, head.length, length - HEAD.size, head.serial)


VOCABULARY = replace(trace.VOCABULARY, messages=Records(holds, see))
