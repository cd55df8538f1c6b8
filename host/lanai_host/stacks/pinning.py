"""User memory that NICs may reach: pinning with or without a cache, runs cut at pages (NP-44,
NP-49)."""

from collections import OrderedDict

from .. import process_memory
from ..bus.base import PAGE_SIZE, Bus, BusError, Pinned
from ..config import HostConfig, HostCost
from ..host_model.meter import Meter

Piece = tuple[int, int]  # bus address, bytes; within one page


class Pins:
    """Pins ranges of the process's memory. With a cache, pages stay pinned until others need the
    room, oldest use first."""

    def __init__(self, bus: Bus, config: HostConfig) -> None:
        self.bus = bus
        self.config = config
        self.kept: OrderedDict[tuple[int, int], Pinned] = OrderedDict()  # (first page, pages) not in use
        self.kept_pages = 0
        self.hits = self.misses = 0  # ranges found pinned, and not
        self.work: list[tuple[HostCost, int]] = []  # what the host must pay for

    def pin(self, address: int, size: int, writable: bool) -> Pinned:
        """Pin a range; whole pages, so that a later range in the same pages may find them in the
        cache. Raises BusError.

        Pages that may be written are pinned so in any case, for a receive may come to use them;
        `writable` asks for no less.
        """
        kept = self.take_kept(address, size, writable)
        if kept is not None:
            return kept
        first, count = _pages(address, size)
        self.misses += 1
        self.work += [(HostCost.PIN, 1), (HostCost.PIN_PAGE, count)]
        for attempt in (True,) if writable else (True, False):
            try:
                return self.bus.pin(first * PAGE_SIZE, count * PAGE_SIZE, attempt)
            except BusError:
                pass
        raise process_memory.unwritable(address, size) if writable else process_memory.unreadable(address, size)

    def take_kept(self, address: int, size: int, writable: bool) -> Pinned | None:
        """`pin` of a range that is in the cache; None if it is not."""
        key = _pages(address, size)
        kept = self.kept.get(key)
        if kept is None or kept.writable < writable:
            return None
        del self.kept[key]
        self.hits += 1
        self.kept_pages -= key[1]
        return kept

    def release(self, pinned: Pinned) -> None:
        """The range is no longer in use by this message."""
        for leaving in self.keep(pinned):
            self.unpin(leaving)

    def keep(self, pinned: Pinned) -> list[Pinned]:
        """`release` into the cache: what must be unpinned for it, the range itself if it has no
        place there."""
        pages = len(pinned.pages)
        key = (pinned.address // PAGE_SIZE, pages)
        if key in self.kept or pages > self.config.pinned_cache_pages:
            return [pinned]
        self.kept[key] = pinned
        self.kept_pages += pages
        leaving = []
        while self.kept_pages > self.config.pinned_cache_pages:
            _, oldest = self.kept.popitem(last=False)
            self.kept_pages -= len(oldest.pages)
            leaving.append(oldest)
        return leaving

    def unpin(self, pinned: Pinned) -> None:
        self.work += [(HostCost.PIN, 1), (HostCost.UNPIN_PAGE, len(pinned.pages))]
        self.bus.unpin(pinned)

    def pay(self, meter: Meter) -> None:
        """Charge the work that has not been paid for."""
        for what, count in self.work:
            meter.spend(what, count)
        self.work.clear()

    def close(self) -> None:
        while self.kept:
            self.unpin(self.kept.popitem()[1])


def _pages(address: int, size: int) -> tuple[int, int]:
    """The first page of a range, and how many it touches."""
    first = address // PAGE_SIZE
    return first, (address + size - 1) // PAGE_SIZE - first + 1


def pieces_of(pinned: Pinned, address: int, size: int) -> list[Piece]:
    """The pieces of a pinned range, cut at pages."""
    pieces = []
    while size:
        part = min(size, PAGE_SIZE - address % PAGE_SIZE)
        pieces.append((pinned.bus_address(address), part))
        address += part
        size -= part
    return pieces


def pieces_of_run(bus_address: int, size: int) -> list[Piece]:
    """Return the pieces of memory whose bus addresses are in one run, as `Bus.allocate` gives."""
    pieces = []
    while size:
        part = min(size, PAGE_SIZE - bus_address % PAGE_SIZE)
        pieces.append((bus_address, part))
        bus_address += part
        size -= part
    return pieces
