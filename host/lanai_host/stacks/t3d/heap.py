"""The symmetric heap: the same objects at the same offsets in the memory of each rank (T3-02).

A remote place is named by a rank and an offset. What one rank's part holds, in this order:

counters    written by its own NIC
slots       one for each peer: its message, written by that peer (T3-04). A message ends where its
            header begins, so that both are one put; the status is the header's last word, and the
            last that arrives (T3-08)
flags       one for each peer: this rank's slot there is in use (T3-04, T3-05)
replies     one for each long message under way: where its bytes shall go, written by the receiver
            (T3-10)
arrivals    one for each long message coming: how much of it is there, written by the sender
staging     copies of messages that leave by a put from memory, one for each request
"""

import struct
from dataclasses import dataclass

from lanai_firmware.programs.put.layout import COUNTERS, RING, Counter

from ...bus.base import HostBuffer
from .options import T3dOptions

WORD = struct.Struct(">I")
HEADER = struct.Struct(">IIiIIIII")  # mode, context, tag, length, reply, matched, spare, status
REPLY = struct.Struct(">IIII")  # addresses, bytes, arrival, status; before it stand the addresses
SHORT, LONG = 1, 2  # modes
STATUS = HEADER.size - WORD.size
NONE = 0xFFFF_FFFF  # no reply structure, no matched flag


@dataclass(frozen=True)
class HeapLayout:
    """Offsets for `ranks` ranks."""

    ranks: int
    options: T3dOptions

    @property
    def slot_size(self) -> int:
        return self.options.short + HEADER.size

    @property
    def reply_size(self) -> int:
        return WORD.size * self.options.reply_pages + REPLY.size

    def slot(self, peer: int) -> int:
        """The slot that `peer` writes."""
        return WORD.size * int(COUNTERS) + peer * self.slot_size

    def flag(self, peer: int) -> int:
        """Whether this rank's slot at `peer` is in use."""
        return self.slot(self.ranks) + peer * WORD.size

    def reply(self, number: int) -> int:
        return self.flag(self.ranks) + number * self.reply_size

    def arrival(self, number: int) -> int:
        return self.reply(self.options.long_sends) + number * WORD.size

    def staging(self, number: int) -> int:
        return self.arrival(self.arrivals) + number % int(RING) * self.staging_size

    @property
    def staging_size(self) -> int:
        """Of the longest put that the library makes up."""
        return max(self.slot_size, self.reply_size)

    @property
    def arrivals(self) -> int:
        """Long messages that can come at a time: as many as all peers send, and one more of each
        that begins before this rank has seen that another is there."""
        return (self.options.long_sends + 1) * self.ranks

    @property
    def size(self) -> int:
        return self.staging(int(RING) - 1) + self.staging_size


class Heap:
    """This rank's part, in its memory."""

    def __init__(self, layout: HeapLayout, memory: HostBuffer) -> None:
        self.layout = layout
        self.memory = memory
        self.view = memory.view

    def word(self, offset: int) -> int:
        found: int = WORD.unpack_from(self.view, offset)[0]
        return found

    def set_word(self, offset: int, value: int) -> None:
        WORD.pack_into(self.view, offset, value)

    def counter(self, which: Counter) -> int:
        return self.word(WORD.size * which)
