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
from functools import cached_property

from lanai_firmware.programs.put.layout import COUNTERS, RING, Counter

from ...bus.base import HostBuffer
from .cache import Cache
from .options import T3dOptions

WORD = struct.Struct(">I")
HEADER = struct.Struct(">IIiIIIII")  # mode, context, tag, length, reply, matched, spare, status
# Addresses on the bus, bytes, arrival, where the buffer is in the receiver's private memory,
# status; before it stand the addresses.
REPLY = struct.Struct(">IIIII")
SHORT, LONG = 1, 2  # modes
NONE = 0xFFFF_FFFF  # no reply structure, no matched flag


@dataclass(frozen=True)
class HeapLayout:
    """Offsets for `ranks` ranks."""

    ranks: int
    options: T3dOptions

    @cached_property
    def status(self) -> int:
        """Return where in a header its status stands."""
        return 0 if self.options.status == "first" else HEADER.size - WORD.size

    def header(self, peer: int) -> int:
        """The header in the slot that `peer` writes."""
        return self.slot(peer) + self.options.short

    @cached_property
    def slot_size(self) -> int:
        return self.options.short + HEADER.size

    @cached_property
    def reply_size(self) -> int:
        return WORD.size * self.options.reply_pages + REPLY.size

    def slot(self, peer: int) -> int:
        """The slot that `peer` writes."""
        return WORD.size * int(COUNTERS) + peer * self.slot_size

    def flag(self, peer: int) -> int:
        """Return the offset of the word that is set while this rank's slot at `peer` is in use."""
        return self.slot(self.ranks) + peer * WORD.size

    def reply(self, number: int) -> int:
        return self.flag(self.ranks) + number * self.reply_size

    def arrival(self, number: int) -> int:
        return self.reply(self.options.long_sends) + number * WORD.size

    @cached_property
    def nothing(self) -> int:
        """Return where answers without bytes go."""
        return self.arrival(self.arrivals)

    def staging(self, number: int) -> int:
        return self.nothing + number % int(RING) * self.staging_size

    @cached_property
    def staging_size(self) -> int:
        """The bytes of the longest put that the library makes up."""
        return max(self.slot_size, self.reply_size)

    @cached_property
    def arrivals(self) -> int:
        """Long messages that can come at a time: as many as all peers send, and one more of each
        that begins before this rank has seen that another is there."""
        return (self.options.long_sends + 1) * self.ranks

    @cached_property
    def size(self) -> int:
        return self.staging(int(RING) - 1) + self.staging_size


class Heap:
    """This rank's part, in its memory, as its processor sees it."""

    def __init__(self, layout: HeapLayout, memory: HostBuffer) -> None:
        self.layout = layout
        self.memory = memory
        self.view = memory.view
        self._cache = Cache(memory.view) if layout.options.cache in ("line", "off") else None
        self.invalidated = 0  # lines, since the host paid for them

    @property
    def plain(self) -> bool:
        """No cache hides what peers have put."""
        return self._cache is None

    def read(self, offset: int, size: int) -> bytes:
        if self._cache is not None:
            if self.layout.options.cache == "line":
                self.invalidated += self._cache.invalidate(offset, size)
            return self._cache.read(offset, size)
        return bytes(self.view[offset : offset + size])

    def word(self, offset: int) -> int:
        found: int = WORD.unpack(self.read(offset, WORD.size))[0]
        return found

    def set_word(self, offset: int, value: int) -> None:
        if self._cache is not None:
            self._cache.write(offset, WORD.pack(value))
        else:
            WORD.pack_into(self.view, offset, value)

    def counter(self, which: Counter) -> int:
        """A register of the NIC, which no cache hides."""
        found: int = WORD.unpack_from(self.view, WORD.size * which)[0]
        return found


def pack_header(layout: HeapLayout, fields: tuple[int, ...]) -> bytes:
    """A header's bytes from its fields, the status the last one."""
    data = HEADER.pack(*fields)
    return data[-WORD.size :] + data[: -WORD.size] if layout.status == 0 else data


def unpack_header(layout: HeapLayout, data: bytes) -> tuple[int, ...]:
    """A header's fields, the status the last one."""
    if layout.status == 0:
        data = data[WORD.size :] + data[: WORD.size]
    return HEADER.unpack(data)
