"""What the adapter's packets tell of this device's messages, for traces."""

import struct
from collections.abc import Sequence
from dataclasses import replace

from lanai_firmware.programs.vocabulary import RecordPart, Records, SeenRecord

from ...adapter import trace
from .layout import BLOCK_BYTES, HEAD, PEER_BYTES, Kind, Queue

BEGIN = struct.Struct(">BBHi")  # of `HEAD`: what is known of every record
PARTS = {Kind.MESSAGE: RecordPart.BEGINS, Kind.WRITTEN: RecordPart.WRITTEN}


def holds(offset: int, sender: int) -> bool:
    """Whether control words at this offset are those of the FIFO for messages of `sender`."""
    return offset == sender * PEER_BYTES + Queue.MESSAGES * BLOCK_BYTES


def see(words: Sequence[int], length: int) -> SeenRecord:
    """A record that begins with a `Head`."""
    if length < HEAD.size or 4 * len(words) < BEGIN.size:
        return SeenRecord(RecordPart.NONE)
    kind, _, context, tag = BEGIN.unpack_from(struct.pack(f">{len(words)}I", *words))
    return SeenRecord(PARTS.get(kind, RecordPart.NONE), context, tag, length - HEAD.size)


VOCABULARY = replace(trace.VOCABULARY, records=Records(holds, see))
