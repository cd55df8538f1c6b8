"""The memory of one operation, as the NIC must be told: pinned user memory, or a bounce
buffer.

Data in few runs go straight from and to the program's memory (NP-38). Data in many small runs, as
strided datatypes give, are gathered in a bounce buffer by the processor, because a page entry for
every few bytes would cost the NIC more.
"""

import struct
from dataclasses import dataclass, field
from zlib import crc32

from ...body import Body
from ...bus.base import PAGE_SIZE, Bus, BusError, HostBuffer, Pinned
from ...config import HostConfig, HostCost
from ..pinning import Piece, Pins, pieces_of, pieces_of_run

SHORTEST_RUN = 512  # bytes that runs must have on average to be worth a piece each
INLINE_PIECES = 2
MOST_BYTES = (
    96 << 20
)  # lent to sends, and as much to receives; the rest of a process's bus addresses is for buffers and kept pages
PACKET = 4096
PLACE = struct.Struct("<QQ")


def pages(body: Body) -> int:
    """Bytes of the pages that a body lies in, at most."""
    return body.size + 2 * PAGE_SIZE * body.runs


@dataclass
class Hold:
    """Memory lent to the NIC for one operation."""

    body: Body
    outgoing: bool
    pieces: list[Piece] = field(default_factory=list)
    pins: list[Pinned] = field(default_factory=list)
    bounce: HostBuffer | None = None
    entries: list[int] = field(default_factory=list)  # in the page table

    @property
    def total(self) -> int:
        """Bytes."""
        return self.body.size


class Memory:
    """Lends memory to the NIC and takes it back.

    Sends and receives have `most` bytes each, in whole pages, which is also the longest message:
    neither can take the page table or the bus addresses that the other needs for a message to move
    at all.
    """

    def __init__(self, bus: Bus, config: HostConfig, page_entries: int) -> None:
        self.bus = bus
        self.most = min(MOST_BYTES, (page_entries // 2 - 1) * config.pages_per_entry * PAGE_SIZE)
        self.pins = Pins(bus, config)
        self.bounces: dict[int, list[HostBuffer]] = {}
        self.lent = {True: 0, False: 0}  # bytes of pinned pages, by direction: outgoing or not
        self.placement = 0  # see `Device.placement`
        self.copied = 0  # bytes that the processor copied and has not paid for

    def lend(self, body: Body, outgoing: bool, bounce: bool = False) -> Hold:
        """Make the bytes reachable for the NIC. `bounce` asks for a copy even where pinning would
        do."""
        hold = Hold(body, outgoing)
        if not body.size:
            return hold
        if not bounce and self._worth_pinning(body):
            self._pin(hold)
            for address, size in body.segments():
                self.placement = crc32(PLACE.pack(address % PAGE_SIZE, size), self.placement)
            if hold.total > PACKET or len(hold.pieces) <= INLINE_PIECES:
                return hold
            self._unpin(hold)
        data = body.read() if outgoing else b""
        hold.bounce = self._bounce(body.size)
        hold.pieces = pieces_of_run(hold.bounce.bus_address, body.size)
        if outgoing:
            hold.bounce.view[: body.size] = data
            self.copied += body.size
        return hold

    def _worth_pinning(self, body: Body) -> bool:
        runs = body.runs
        return runs * SHORTEST_RUN <= body.size + SHORTEST_RUN and (runs == 1 or pages(body) <= self.most)

    def take_back(self, hold: Hold, received: int) -> None:
        """The NIC is done with the memory; `received` bytes at its start are new. Raises BusError,
        with the memory taken back, if they cannot be copied to where they belong."""
        bounce, hold.bounce = hold.bounce, None
        self._unpin(hold)
        if bounce is not None:
            self.bounces.setdefault(bounce.size, []).append(bounce)
            if received:
                self.copied += received
                hold.body.write(bounce.view[:received])

    @property
    def owes(self) -> bool:
        """Is there work that `work` would tell of?"""
        return bool(self.copied or self.pins.work)

    def fits(self, body: Body, outgoing: bool) -> bool:
        """May these bytes be lent now? If not, they may when others have come back."""
        lent = self.lent[outgoing]
        return not lent or lent + pages(body) <= self.most

    def _pin(self, hold: Hold) -> None:
        try:
            for address, size in hold.body.segments():
                pinned = self.pins.pin(address, size, not hold.outgoing)
                self._lent(hold, pinned, address, size)
        except BusError:
            self._unpin(hold)
            raise

    def _lent(self, hold: Hold, pinned: Pinned, address: int, size: int) -> None:
        hold.pins.append(pinned)
        self.lent[hold.outgoing] += PAGE_SIZE * len(pinned.pages)
        hold.pieces += pieces_of(pinned, address, size)

    def keep(self, hold: Hold) -> list[Pinned]:
        """The NIC is done with memory that had no copy: what must be unpinned now."""
        leaving = []
        for pinned in hold.pins:
            self.lent[hold.outgoing] -= PAGE_SIZE * len(pinned.pages)
            leaving += self.pins.keep(pinned)
        hold.pins = []
        hold.pieces = []
        return leaving

    def _unpin(self, hold: Hold) -> None:
        for pinned in self.keep(hold):
            self.pins.unpin(pinned)

    def _bounce(self, size: int) -> HostBuffer:
        """A buffer of at least a page, in sizes of powers of two so that they can be used again."""
        rounded = 1 << max(12, (size - 1).bit_length())
        kept = self.bounces.get(rounded)
        return kept.pop() if kept else self.bus.allocate(rounded)

    def work(self) -> list[tuple[HostCost, int]]:
        """Return the work of the host's processor since the last call."""
        work, self.pins.work = self.pins.work, []
        if self.copied:
            work = [*work, (HostCost.COPY, self.copied)]
            self.copied = 0
        return work
