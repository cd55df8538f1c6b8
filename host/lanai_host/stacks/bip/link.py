"""The NIC as a rank sees it: requests, a ring for each peer with its credit, memory for long messages."""

import struct
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain

from lanai_firmware.lang import constants_set, offset_of, sizeof
from lanai_firmware.programs.bip.layout import (
    CHANNEL_SHIFT,
    CLOSED,
    LANDED_AT,
    LENGTH,
    PAGE,
    PAGES,
    RING,
    RINGS_AT,
    SLOT,
    SLOTS,
    Border,
    Landing,
    Long,
    Request,
    Type,
    Word,
    host_bytes,
    sizes,
)
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import Bus, Pinned, Watched
from ...config import HostCost
from ...host_model.meter import Meter
from ..pinning import pieces_of
from .attachment import FIELDS, HEADER, WORD, Head

DOORBELL = host_offset("DOORBELL")
LANDING_END = struct.Struct(">III")  # first, length, number
LONG_END = struct.Struct(">IIIII")  # node, first, length, packet, number
PLACES = ("requests", "landings", "long", "base", "released")
LOOK = 1_000_000  # picoseconds between two looks whether the NIC has let go of this rank's memory
REQUEST = int(sizeof(Request))
EMPTY = WORD.pack(0)
REACH = int(PAGES) * int(PAGE)


class Link:
    """One rank's. Counts are of things since the start; those in the NIC's memory wrap around."""

    def __init__(self, bus: Bus, border: int, ranks: int, meter: Meter) -> None:
        self._bus = bus
        self._border = SRAM_HOST + border
        self._meter = meter
        self._ranks = ranks
        with constants_set(sizes(ranks)):
            self._places = {name: int(offset_of(Border, name)) for name in PLACES}
        self._memory = bus.allocate(host_bytes(ranks))
        self._view = self._memory.view
        self._written = 0  # requests
        self._longs = 0
        self._landings = [0] * ranks  # by channel
        self._read = [0] * ranks
        self._ends = [self._next_end(channel) for channel in range(ranks)]  # of the places of the next packets
        self._rings = [self._ring(end) for end in self._ends]
        self._words = int(LANDED_AT) + WORD.size * ranks  # bytes at the start of the memory that only the NIC writes
        self._seen = bytes(self._words)  # those at the last look

    def open(self) -> None:
        """Tell the NIC where this rank's memory is. Packets may wait for it."""
        self._write("base", self._memory.bus_address)
        self._bus.write(DOORBELL, 1)

    def close(self, lost: Callable[[], bool]) -> None:
        """Take this host's memory away from the NIC, which drops what arrives from now on. Returns when the NIC will
        not reach the memory any more. `lost`: is it?"""
        self._write("base", int(CLOSED))
        self._bus.write(DOORBELL, 1)
        while not self._bus.read(self._border + self._places["released"]) and not lost():
            self._bus.elapse(LOOK)

    # Short packets.

    @property
    def unsent(self) -> int:
        """Requests whose bytes have not left."""
        return (self._written - self._word(Word.LEFT)) & 0xFFFF_FFFF

    @property
    def has_room(self) -> bool:
        """The NIC takes another request."""
        return self.unsent < int(RING)

    def send(self, node: int, data: bytes) -> None:
        """Write a request, which must have room."""
        data += bytes(-len(data) % WORD.size)
        place = self._written % int(RING)
        self._written += 1
        fields = FIELDS.pack(node << 16 | len(data), self._written & 0xFFFF_FFFF)
        end = self._border + self._places["requests"] + (place + 1) * REQUEST
        self._meter.spend(HostCost.POST)
        self._bus.write_block(end - len(data) - len(fields), data + fields)
        self._bus.write(DOORBELL, 1)

    def arrived(self, channel: int) -> bytes | None:
        """Take the next packet out of a channel's ring; None if it is empty."""
        end = self._ends[channel]
        mark: int = WORD.unpack_from(self._view, end - WORD.size)[0]
        if not mark:
            return None
        data = bytes(self._view[end - WORD.size - (mark & int(LENGTH)) : end - WORD.size])
        self._view[end - WORD.size : end] = EMPTY
        self._read[channel] += 1
        self._ends[channel] = end = self._next_end(channel)
        self._rings[channel] = self._ring(end)
        return data

    def arrivals(self, first: int) -> Iterator[int]:
        """The channels whose rings have a packet when their turn comes, from `first` on and around. In a large job few
        of many have."""
        view, ends = self._view, self._ends
        for channel in chain(range(first, self._ranks), range(first)):
            end = ends[channel]
            if view[end - WORD.size : end] != EMPTY:
                yield channel

    def _next_end(self, channel: int) -> int:
        place = self._read[channel] % int(SLOTS)
        return int(RINGS_AT) + (channel << int(CHANNEL_SHIFT)) + (place + 1) * int(SLOT)

    # Long messages.

    @property
    def long_is_free(self) -> bool:
        """The last long send has been taken."""
        return self._word(Word.LONGS) == self._longs & 0xFFFF_FFFF

    def send_long(self, node: int, pinned: Pinned, address: int, size: int, packet: int) -> None:
        """Send bytes to the landing of a node, at most what `landing_size` gives there. `long_is_free` must
        hold."""
        self._longs += 1
        first = address % int(PAGE)
        end = LONG_END.pack(node, first, size, packet, self._longs & 0xFFFF_FFFF)
        self._describe(self._places["long"], int(offset_of(Long, "node")), pinned, address, size, end)
        self._bus.write(DOORBELL, 1)

    def land(self, channel: int, pinned: Pinned, address: int, size: int) -> None:
        """Have the next bytes of a channel's long message written to memory. The landing before it must be
        complete."""
        self._landings[channel] += 1
        end = LANDING_END.pack(address % int(PAGE), size, self._landings[channel] & 0xFFFF_FFFF)
        start = self._places["landings"] + channel * int(sizeof(Landing))
        self._describe(start, int(offset_of(Landing, "first")), pinned, address, size, end)

    def has_landed(self, channel: int) -> bool:
        """All landings of a channel are complete."""
        seen: int = WORD.unpack_from(self._view, int(LANDED_AT) + WORD.size * channel)[0]
        return seen == self._landings[channel] & 0xFFFF_FFFF

    def _describe(self, start: int, end_at: int, pinned: Pinned, address: int, size: int, end: bytes) -> None:
        """Write the pages of a range, then the words at the end of its description."""
        pages = b"".join(WORD.pack(place & -int(PAGE)) for place, _ in pieces_of(pinned, address, size))
        self._meter.spend(HostCost.POST)
        self._bus.write_block(self._border + start, pages)
        self._bus.write_block(self._border + start + end_at, end)

    # News.

    @property
    def faults(self) -> int:
        return self._word(Word.FAULTS)

    def look(self) -> None:
        """Keep the words of the NIC as they are now."""
        self._seen = bytes(self._view[: self._words])

    def watched(self) -> list[Watched]:
        """Return the words that change when there is news, as they are now."""
        return [*self._rings, Watched(self._memory, 0, bytes(self._view[: self._words]))]

    def decisive(self) -> list[Watched]:
        """Return those of them that tell of more than a request whose bytes have left, as they were at the last
        look."""
        first, second = WORD.size * Word.LEFT, WORD.size * (Word.LEFT + 1)
        words = [Watched(self._memory, 0, self._seen[:first]), Watched(self._memory, second, self._seen[second:])]
        return [*self._rings, *words]

    def _ring(self, end: int) -> Watched:
        """Return the last word of the place that a channel's next packet will be written to."""
        return Watched(self._memory, end - WORD.size, EMPTY)

    def _word(self, which: Word) -> int:
        found: int = WORD.unpack_from(self._view, WORD.size * which)[0]
        return found

    def _write(self, name: str, value: int) -> None:
        self._bus.write(self._border + self._places[name], value)


def landing_size(address: int, left: int) -> int:
    """Return how many bytes one landing takes at an address."""
    return min(left, REACH - address % int(PAGE))


# Short packets on their way out, and the credit that they need.
#
# A rank may have `credits` packets at another that it has not read. Their reader gives them back with its own packets
# or, when half of them wait for that, with a packet of CREDIT. Those need no credit. There are at most two of them in
# a ring, because who reads none of them cannot send more than `credits` packets.


Letter = Callable[[], tuple[Head, bytes] | None]  # makes a packet when its turn has come; None: there is none


class Outbox:
    """Packets to one rank leave in the order in which they were put in."""

    def __init__(self, link: Link, rank: int, ranks: int, credits: int) -> None:
        self._link = link
        self._rank = rank
        self._most = credits
        self._credits = [credits] * ranks  # packets that each rank still takes
        self._owed = [0] * ranks  # packets of each rank that were read, and that it does not know of
        self._waiting: dict[int, deque[Letter]] = {}

    @property
    def is_idle(self) -> bool:
        """Every packet has left."""
        return not self._waiting and not self._link.unsent

    @property
    def is_settled(self) -> bool:
        """Return whether nothing waits to leave."""
        return not (self._waiting or self._must_tell(max(self._owed)))

    def put(self, dest: int, letter: Letter) -> None:
        """Queue a packet. `push` sends it."""
        self._waiting.setdefault(dest, deque()).append(letter)

    def put_head(self, dest: int, head: Head) -> None:
        """Queue a packet that is a header alone."""
        self.put(dest, lambda: (head, b""))

    def read(self, source: int, credit: int) -> None:
        """A packet of a rank was read, which brings credit."""
        self._credits[source] += credit

    def owe(self, source: int) -> None:
        """The place of a packet is free. That will be told."""
        self._owed[source] += 1

    def push(self) -> None:
        """Send what credit and the NIC's room let leave."""
        for dest in list(self._waiting):
            waiting = self._waiting[dest]
            while waiting and self._credits[dest] and self._link.has_room:
                made = waiting.popleft()()
                if made is not None:
                    self._credits[dest] -= 1
                    self._send(dest, *made)
            if not waiting:
                del self._waiting[dest]
        if not self._must_tell(max(self._owed)):
            return
        for dest, owed in enumerate(self._owed):
            if self._must_tell(owed) and self._link.has_room:
                self._send(dest, Head(Type.CREDIT), b"")

    def _must_tell(self, owed: int) -> bool:
        """Return whether a rank waits to be told that so many of its packets were read."""
        return 2 * owed >= self._most and owed > 0

    def clear(self) -> None:
        self._waiting.clear()

    def _send(self, dest: int, head: Head, data: bytes) -> None:
        owed, self._owed[dest] = self._owed[dest], 0
        self._link.send(dest, HEADER.pack(*head._replace(credit=owed, channel=self._rank)) + data)
