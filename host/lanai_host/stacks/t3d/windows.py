"""Memory that a NIC's adapter may reach beside the heap: windows of pinned pages, and memory of the process's own.

A name of a byte there has an exposure's number in its upper bits and the byte's offset in the exposure's pages below.
All exposures of a process have one key, because within a job of the T3D nothing is protected from the other ranks.
"""

from dataclasses import replace

from ...adapter.exposures import Exposure, pages_of
from ...adapter.opened import OpenedAdapter
from ...adapter.operation import Token
from ...bus.base import PAGE_SIZE, HostBuffer, Pinned
from ...remote import Access

OFFSET_BITS = 28  # of a name
OFFSET = (1 << OFFSET_BITS) - 1  # mask
PAGES = 32  # of a window, at most
LANDINGS = 6  # windows that peers put to, at most
SPARE_PAGES = 4  # for flags of synchronous sends


def landings(pages: int) -> int:
    """Return how many windows peers can have at a time if an adapter's page table has `pages` entries left."""
    return min(LANDINGS, (pages - SPARE_PAGES) // PAGES)


def name_of(exposure: int, offset: int) -> int:
    """Return the name of a byte of an exposure."""
    return exposure << OFFSET_BITS | offset


def place_of(name: int) -> tuple[int, int]:
    """The number of the exposure, and the offset in its pages."""
    return name >> OFFSET_BITS, name & OFFSET


class Windows:
    """The windows of one process that peers put to, in as many as there are."""

    def __init__(self, adapter: OpenedAdapter, landings: int) -> None:
        self._adapter = adapter
        self._left = landings
        self._open: dict[int, Exposure] = {}

    def share(self, memory: HostBuffer) -> int:
        """The name of the first byte of memory that stays as long as the process."""
        size = len(memory.view)
        pages = [memory.bus_address + at for at in range(0, size, PAGE_SIZE)]
        exposure = self._adapter.exposures.add(0, size, pages, Access.WRITE, walked=len(pages) > 1)
        return name_of(exposure.number, 0)

    def open(self, pinned: Pinned, address: int, size: int) -> Exposure | None:
        """Let peers put to pinned bytes. None while as many windows are open as there may be."""
        if not self._left:
            return None
        first = address // PAGE_SIZE - pinned.address // PAGE_SIZE
        pages = pinned.pages[first : first + pages_of(address, size)]
        exposure = self._adapter.exposures.add(address, size, pages, Access.WRITE)
        self._left -= 1
        self._open[exposure.number] = exposure
        return exposure

    def close(self, number: int) -> None:
        """Close a window. No access to it is under way."""
        self._adapter.exposures.remove(self._open.pop(number))
        self._left += 1

    def close_all(self) -> None:
        """Until no peer reaches any window."""
        for number in list(self._open):
            self.close(number)
        self._adapter.exposures.settle_accesses()


def named(token: Token, number: int) -> Token:
    """Names another exposure of the process whose first exposure has this token."""
    return replace(token, exposure=token.exposure + number)
