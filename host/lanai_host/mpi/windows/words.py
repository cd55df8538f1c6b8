"""Words that the processes of a window keep for each other where their device reaches them."""

from collections.abc import Callable, Sequence

import numpy as np

from ...body import Run
from ...operation import DeviceError, Operation
from ...remote import Access, Atomic, Exposure, Reach, Remote
from ...wait import Wait
from ..communicator import Communicator
from ..memory import Scratch, array_at
from .way import Pending

WORD = 4
MASK = 0xFFFFFFFF
TAIL, STATE = 0, 1  # of the lock of this process's memory: the last in the queue, and who holds it
FIRST, PART = 2, 5  # the first of each rank's words, and how many there are
NEXT, TURN, GRANTED = 0, 1, 2  # what this process learns while it locks that rank's memory
POSTED, COMPLETED = 3, 4  # how often that rank has called MPI_Win_post and MPI_Win_complete for this process

Fail = Callable[[str, DeviceError, int], None]


class Words:
    """This process's words, which others write, and those of the others.

    Args:
        fail: raises the error of an operation on a rank.

    Attributes:
        segment: this process's own.
    """

    def __init__(self, communicator: Communicator, remote: Remote, fail: Fail) -> None:
        self._progress = communicator.progress
        self._remote = remote
        self._fail = fail
        self._reaches: Sequence[Reach] = ()
        self._watches: dict[int, Operation] = {}
        self.segment = remote.allocate(WORD * (FIRST + PART * communicator.size))
        self._own = array_at(self.segment.address, self.segment.size // WORD, np.uint32)
        self._own[:] = 0

    def expose(self) -> Exposure:
        """Let the others reach the words. Raises BusError if there is no room for that."""
        return self._remote.expose(self.segment.address, self.segment.size, Access.WRITE | Access.ATOMIC)

    def connect(self, reaches: Sequence[Reach]) -> None:
        """Learn where the words of each rank are."""
        self._reaches = reaches

    def get(self, rank: int, which: int) -> int:
        """One of this process's own words about a rank."""
        return int(self._own[_place(rank, which)])

    def set(self, rank: int, which: int, value: int) -> None:
        self._own[_place(rank, which)] = value

    def change(self, rank: int, word: int, what: Atomic, operand: int, why: Wait, compare: int = 0) -> int:
        """Change TAIL or STATE of a rank; what it was."""
        old = Scratch(WORD)
        with self._progress.lock:
            changed = self._remote.atomic(
                self._reaches[rank], WORD * word, what, WORD, operand & MASK, compare, old.address
            )
        self._wait(changed, rank, why)
        return int.from_bytes(old.data[:WORD].tobytes(), "little")

    def tell(self, to: int, rank: int, which: int, value: int, why: Wait) -> None:
        """Write the word about a rank that process `to` keeps."""
        data = Scratch(WORD)
        data.data[:] = np.frombuffer((value & MASK).to_bytes(WORD, "little"), np.uint8)
        with self._progress.lock:
            put = self._remote.put(self._reaches[to], WORD * _place(rank, which), Run(data.address, WORD))
        self._wait(put, to, why)

    def until_set(self, rank: int, which: int, why: Wait) -> None:
        """Until one of this process's own words is not 0."""
        while not self.get(rank, which):
            self._wait(self.changed(rank, which), rank, why)

    def changed(self, rank: int, which: int) -> Operation:
        """Done when one of this process's own words is not what it is now."""
        place = _place(rank, which)
        watch = self._watches.get(place)
        if watch is None or watch.done:
            with self._progress.lock:
                watch = self._remote.watch(self.segment, WORD * place, self._own[place : place + 1].tobytes())
            self._watches[place] = watch
        return watch

    def _wait(self, operation: Operation, rank: int, why: Wait) -> None:
        self._progress.wait(Pending(why, [operation]))
        if operation.error is not None:
            self._fail(why.call, operation.error, rank)


def _place(rank: int, which: int) -> int:
    return FIRST + PART * rank + which
