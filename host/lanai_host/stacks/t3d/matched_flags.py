"""Flags of synchronous sends: the receiver sets one when the message has met a receive (T3-12).

A program may have any number of synchronous sends under way, and its peers may take them in any
order. So their number has no limit: flags lie in pages that are added when they are needed, and are
named by their bus address.
"""

from ...bus.base import PAGE_SIZE, Bus, HostBuffer
from .heap import WORD


class MatchedFlags:
    """`take` a flag, look whether it `is_set`, `give` it back."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._pages: dict[int, HostBuffer] = {}  # by bus address
        self._free: list[int] = []

    def take(self) -> int:
        """The bus address of a flag that is not set."""
        if not self._free:
            page = self._bus.allocate(PAGE_SIZE)
            self._pages[page.bus_address] = page
            self._free = [page.bus_address + offset for offset in range(PAGE_SIZE - WORD.size, -1, -WORD.size)]
        flag = self._free.pop()
        WORD.pack_into(*self._place(flag), 0)
        return flag

    def is_set(self, flag: int) -> bool:
        return bool(WORD.unpack_from(*self._place(flag))[0])

    def give(self, flag: int) -> None:
        self._free.append(flag)

    def _place(self, flag: int) -> tuple[memoryview, int]:
        return self._pages[flag & -PAGE_SIZE].view, flag % PAGE_SIZE
