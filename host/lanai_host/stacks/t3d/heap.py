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
from lanai_hdl import ranges

from ...bus.base import HostBuffer
from ...errors import UserError

# The processor's cache, as far as it hides what peers have put (T3-17).
#
# The cache of the Alpha 21064 holds 8 KB in lines of 32 bytes, each at one place. Stores go through
# it. A put from elsewhere writes memory; whether it invalidates the line here is what the modes differ in.

SIZE = 8192
LINE = 32


class Cache:
    """A cache that no put invalidates. Lines stay until another takes their place, or until they are invalidated."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self._lines: dict[int, tuple[int, bytearray]] = {}  # by place: address of the line, its bytes

    def read(self, offset: int, size: int) -> bytes:
        """Bytes as the processor sees them. Lines that are not there are fetched."""
        found = bytearray()
        for line, begin, end in _parts(offset, size):
            found += self._fetch(line)[begin:end]
        return bytes(found)

    def write(self, offset: int, data: bytes) -> None:
        """A store: to memory, and to the lines that are there."""
        self._memory[offset : offset + len(data)] = data
        done = 0
        for line, begin, end in _parts(offset, len(data)):
            address, held = self._lines.get(_place(line), (-1, bytearray()))
            if address == line:
                held[begin:end] = data[done : done + end - begin]
            done += end - begin

    def invalidate(self, offset: int, size: int) -> int:
        """The next read fetches these bytes. How many lines that concerns."""
        lines = [line for line, _, _ in _parts(offset, size)]
        for line in lines:
            if self._lines.get(_place(line), (-1,))[0] == line:
                del self._lines[_place(line)]
        return len(lines)

    def _fetch(self, line: int) -> bytearray:
        address, held = self._lines.get(_place(line), (-1, bytearray()))
        if address != line:
            held = bytearray(self._memory[line : line + LINE])
            self._lines[_place(line)] = line, held
        return held


def _place(line: int) -> int:
    return line % SIZE // LINE


def _parts(offset: int, size: int) -> list[tuple[int, int, int]]:
    """The lines that a range touches: address of the line, first and last byte in it."""
    lines = range(offset - offset % LINE, offset + size, LINE)
    return [(line, max(offset - line, 0), min(offset + size - line, LINE)) for line in lines]


# The options of `t3d`.

RANGES = {
    "short": (64, 16_384),
    "long_sends": (1, 64),
    "reply_pages": (1, 1024),
    "boot_polls": (1, 1_000_000),
    "alignment": (1, 8),
    "strided": (0, 1 << 20),
    "private": (4096, 1 << 30),
}
CHOICES = {
    "unfinished": ("queue", "late", "spin"),
    "status": ("last", "first"),
    "cache": ("invalidate", "line", "off", "coherent"),
    "validation": ("extend", "refuse", "none"),
}
ALIGNMENTS = (1, 4, 8)


@dataclass(frozen=True)
class T3dOptions:
    """The paper names none of the sizes (T3-G1). Its earlier versions are choices beside its last
    one, which is the default.

    Attributes:
        short: bytes of the longest message that travels in a slot; longer ones wait for an address.
        long_sends: long messages that a rank sends at a time; others wait.
        reply_pages: pages of the receiver's buffer that one reply describes.
        boot_polls: looks, a microsecond apart, until the firmware must be ready.
        unfinished: what moves a long send on (T3-15): any call that waits or tests ("queue"), a
            test or a wait for that send alone ("late", the second version), or the send itself,
            which does not return before ("spin", the first).
        status: where in the header the status stands (T3-08): "last", or "first" as in the first
            version, which loses messages.
        cache: how the host sees what peers have put (T3-17): each put invalidates the line that it
            writes ("invalidate"), the program invalidates a line before it looks ("line") or never
            ("off"), or caches are coherent, as the T3E's.
        validation: what happens to addresses that this process does not have itself (T3-18): it
            gets memory there ("extend"), the put fails with an operand range error ("refuse"), or
            nothing checks them ("none", the T3E).
        private: bytes of private memory that a process begins with, as far as `validation` is concerned.
        alignment: bytes to whose multiples puts are confined (T3-21): 4, 8 as in the first version, or 1.
        adaptive: packets may overtake each other, as on the T3E (T3-24); no: a packet that does is a fault.
        fence: where packets may overtake each other, what tells that data are there waits until they are.
        strided: bytes that the runs of a long message in several must have on average so that each leaves by a
            put of its own, from where it lies; shorter ones are packed. 0: all are packed, as in 1996 (T3-22).
    """

    short: int = 1024
    long_sends: int = 16
    reply_pages: int = 64
    boot_polls: int = 1000
    unfinished: str = "queue"
    status: str = "last"
    cache: str = "invalidate"
    validation: str = "extend"
    private: int = 1 << 20
    alignment: int = 4
    adaptive: bool = False
    fence: bool = True
    strided: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if self.short % 4:
            raise UserError(f"T3dOptions.short={self.short} must be a multiple of 4: puts move words")
        if self.alignment not in ALIGNMENTS:
            raise UserError(f"T3dOptions.alignment={self.alignment} must be one of {', '.join(map(str, ALIGNMENTS))}")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise UserError(f"T3dOptions.{name}={getattr(self, name)!r} must be one of {', '.join(known)}")

    @property
    def fenced(self) -> bool:
        """True if fences must keep puts in order."""
        return self.adaptive and self.fence


def t3d() -> T3dOptions:
    """The paper's device as it was in 1996."""
    return T3dOptions()


def t3e() -> T3dOptions:
    """The port to the T3E that the paper plans (T3-24).

    Caches are coherent, nothing is validated, puts overtake each other, and fences keep order.
    """
    return T3dOptions(cache="coherent", validation="none", adaptive=True)


PRESETS = {"t3d": t3d, "t3e": t3e}


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
