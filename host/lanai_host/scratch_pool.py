"""Memory for the library's own messages, in pages that the heap gives to nothing else.

Which pages a buffer lies in decides what its transfer costs. Here that depends on the sizes and the order of the
library's buffers alone. In the heap it would depend on all that the process has allocated, so also on `--trace`.
"""

import mmap
import weakref
from collections import defaultdict

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

PAGE = mmap.PAGESIZE
LEAST = 64  # bytes of the smallest slot
MOST = 4 << 20  # longer buffers come from the heap: this memory is not given back to the system
_Slot = tuple[mmap.mmap, int, int]  # the memory, its address, the place in it


class Pool:
    """Slots of memory, in sizes of powers of two. The slot that was freed last is used first."""

    def __init__(self) -> None:
        self._free: defaultdict[int, list[_Slot]] = defaultdict(list)  # by size of the slot
        self._taken: dict[int, tuple[weakref.ref[Bytes], int, _Slot]] = {}  # by id of the reference

    def take(self, size: int) -> tuple[Bytes, int]:
        """Return an array of `size` bytes, which are not cleared, and its address. Its slot is free when the array
        and all views of it are gone."""
        length = LEAST if size <= LEAST else 1 << (size - 1).bit_length()
        if length > MOST:
            longer = np.empty(size, np.uint8)
            return longer, longer.ctypes.data
        memory, base, place = slot = self._slot(length)
        # Each array is made from the memory itself: numpy makes a view of a view hold the first array only.
        made: Bytes = np.frombuffer(memory, np.uint8, size, place)
        gone = weakref.ref(made, self._give_back)
        self._taken[id(gone)] = (gone, length, slot)
        return made, base + place

    def _slot(self, length: int) -> _Slot:
        free = self._free[length]
        while True:
            try:
                return free.pop()
            except IndexError:  # also if another thread has taken what there was
                # Not shared with processes that are forked from this one.
                memory = mmap.mmap(-1, max(PAGE, length), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                base = np.frombuffer(memory, np.uint8).ctypes.data
                free += [(memory, base, place) for place in range(len(memory) - length, -1, -length)]

    def _give_back(self, gone: weakref.ref[Bytes]) -> None:
        _, length, slot = self._taken.pop(id(gone))
        self._free[length].append(slot)


POOL = Pool()
