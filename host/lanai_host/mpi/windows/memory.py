"""The memory of this process that a window exposes."""

from bisect import bisect_right
from collections.abc import Iterator

from ..datatypes import Datatype
from ..errors import ErrorClass, MpiError


def reach(offset: int, count: int, datatype: Datatype) -> tuple[int, int]:
    """First byte of `count` elements at `offset`, and the one after the last."""
    if not count or not datatype.size:
        return offset, offset
    first = offset + datatype.true_lb
    step = datatype.extent * (count - 1)
    return first + min(0, step), first + max(0, step) + datatype.true_extent


class Memory:
    """One stretch from `base` on, or the stretches that the program has attached to a dynamic
    window, by address."""

    def __init__(self, base: int, size: int, dynamic: bool) -> None:
        self.base = base
        self.size = size
        self.dynamic = dynamic
        self._attached: list[tuple[int, int]] = []  # (address, size), sorted

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._attached)

    def attach(self, call: str, address: int, size: int) -> None:
        """Stretches may not overlap."""
        index = bisect_right(self._attached, (address, size))
        for other, length in self._attached[max(0, index - 1) : index + 1]:
            if size and length and other < address + size and address < other + length:
                raise MpiError(
                    ErrorClass.RMA_ATTACH,
                    f"{call}: {size} bytes at {address:#x} overlap {length} bytes at {other:#x}, which are attached",
                )
        self._attached.insert(index, (address, size))

    def detach(self, call: str, address: int) -> None:
        for index, (other, _) in enumerate(self._attached):
            if other == address:
                del self._attached[index]
                return
        raise MpiError(ErrorClass.RMA_ATTACH, f"{call}: base is {address:#x}, where nothing is attached")

    def holds(self, offset: int, count: int, datatype: Datatype) -> bool:
        """Do `count` elements at `offset` bytes from the base lie in what is exposed?"""
        first, last = reach(offset, count, datatype)
        if first == last:
            return True
        if not self.dynamic:
            return first >= 0 and last <= self.size
        if self._covers(first, last):
            return True
        # A datatype with gaps may leave out what lies between two stretches.
        segments = datatype.body(offset, count).segments()
        return all(self._covers(address, address + size) for address, size in segments)

    def _covers(self, first: int, last: int) -> bool:
        """Is every byte attached? Stretches that touch count as one."""
        for address, size in self._attached:
            if address <= first < address + size:
                first = address + size
            if first >= last:
                return True
        return False
