"""The waits of the way by the device: for transfers by the device, and for counters that peers write."""

from collections.abc import Iterable, Mapping, Sequence

from ...body import Body
from ...operation import Operation
from ...wait import Wait
from ..errors import MpiError
from ..memory import Scratch
from ..request import device_error
from .way import Buffer, Pending, Place, Transfer
from .words import MASK, Words


class Accessed(Transfer):
    """A transfer by the device. `local`: what ends when the origin's memory is the program's again.

    Args:
        result: where `fetched`, `size` bytes of elements that came, belong.
    """

    def __init__(
        self,
        why: Wait,
        rank: int,
        local: Sequence[Operation],
        result: Buffer | None = None,
        fetched: Scratch | None = None,
        size: int = 0,
    ) -> None:
        self._rank = rank
        self._local = local
        self._result = result
        self._fetched = fetched
        self._size = size
        super().__init__(why, local)

    @property
    def done(self) -> bool:
        if not super().done:
            return False
        result, fetched = self._result, self._fetched
        if result is not None and fetched is not None and not any(one.error for one in self._local):
            self._result = None
            result.datatype.unpack(fetched.address, result.address, result.elements, 0, self._size)
        return True

    def error(self, call: str) -> MpiError | None:
        failed = next((one.error for one in self._local if one.error is not None), None)
        return None if failed is None else device_error(call, failed, 0, self._rank)


class Counted(Pending):
    """Done when some ranks' counters, of which this process has words, have reached numbers."""

    def __init__(self, why: Wait, words: Words, which: int, wanted: Mapping[int, int]) -> None:
        super().__init__(why)
        self._words, self._which, self._wanted = words, which, wanted

    @property
    def done(self) -> bool:
        return not self._late()

    def operations(self) -> list[Operation]:
        return [self._words.changed(rank, self._which) for rank in self._late()]

    def _late(self) -> list[int]:
        counts = {rank: self._words.get(rank, self._which) for rank in self._wanted}
        return [rank for rank, number in self._wanted.items() if not reached(counts[rank], number)]


def reached(count: int, number: int) -> bool:
    """Return whether a counter of 32 bits, which may wrap, has reached a number."""
    return (count - number) & MASK < 1 << 31


def runs_of(target: Place) -> Iterable[tuple[int, int]]:
    """(offset, bytes) of each piece of a target's memory."""
    return target.datatype.body(target.offset, target.elements).segments()


def pieces_of(target: Place, body: Body) -> Iterable[tuple[int, Body]]:
    """The pieces of a target's memory, each with the part of the origin's body that belongs
    there."""
    at = 0
    for offset, length in runs_of(target):
        part = body.part(at, at + length)
        if part.size:
            yield offset, part
        at += length
