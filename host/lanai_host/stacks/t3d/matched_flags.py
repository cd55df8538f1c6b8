"""Flags of synchronous sends: the receiver sets one when the message has met a receive (T3-12).

A program may have any number of synchronous sends under way, and its peers may take them in any
order. So flags lie in blocks of pages that are added when they are needed, each longer than the one
before. A flag is named as its NIC names memory (`Puts.share`).
"""

from bisect import bisect_right

from ...bus.base import PAGE_SIZE, Bus, HostBuffer, Watched
from .heap import WORD
from .puts import Puts

GROWTH = 16  # a block has so many times the pages of the one before


class MatchedFlags:
    """`take` a flag, look whether it `is_set`, `give` it back."""

    def __init__(self, bus: Bus, puts: Puts) -> None:
        self._bus = bus
        self._puts = puts
        self._blocks: dict[int, HostBuffer] = {}  # by the name of its first byte
        self._names: list[int] = []  # of the blocks, sorted
        self._free: list[int] = []

    def take(self) -> int:
        """The name of a flag that is not set."""
        if not self._free:
            self._add(PAGE_SIZE * GROWTH ** len(self._blocks))
        flag = self._free.pop()
        WORD.pack_into(*self._word(flag), 0)
        return flag

    def is_set(self, flag: int) -> bool:
        return bool(WORD.unpack_from(*self._word(flag))[0])

    def give(self, flag: int) -> None:
        self._free.append(flag)

    def watched(self, flag: int) -> Watched:
        """The flag while it is not set."""
        buffer, offset = self._place(flag)
        return Watched(buffer, offset, bytes(WORD.size))

    def _add(self, size: int) -> None:
        block = self._bus.allocate(size)
        name = self._puts.share(block)
        self._blocks[name] = block
        self._names = sorted(self._blocks)
        self._free = list(range(name + size - WORD.size, name - 1, -WORD.size))

    def _place(self, flag: int) -> tuple[HostBuffer, int]:
        name = self._names[bisect_right(self._names, flag) - 1]
        return self._blocks[name], flag - name

    def _word(self, flag: int) -> tuple[memoryview, int]:
        buffer, offset = self._place(flag)
        return buffer.view, offset
