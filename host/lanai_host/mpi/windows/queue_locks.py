"""Locks of targets by atomics on words in their memory: nothing of a target's processor is needed.

Who locks queues at the target (Mellor-Crummey and Scott): a process waits for a word of its own,
which the one before it writes. An exclusive lock is the head of the queue for as long as it is
held. A shared one leaves the queue at once, and is counted. So locks are granted in the order in
which they were asked for.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ...body import Run
from ...bus.base import Wait
from ...operation import DeviceError, Operation
from ...remote import Access, Atomic, Exposure, Reach, Remote
from ..communicator import Communicator
from ..constants import LockType
from ..memory import Scratch, array_at
from .way import Pending

WORD = 4
TAIL, STATE = 0, 1  # of the lock of this process's memory: the last in the queue, and who holds it
FIRST, PART = 2, 3  # the first of each rank's words, and how many there are
NEXT, TURN, GRANTED = 0, 1, 2  # what this process learns while it locks that rank's memory
READERS = (1 << 16) - 1  # of STATE: shared locks held; above them, the rank that waits for their end
WAITER = 1 << 16

Raise = Callable[[str, DeviceError, int], None]


class QueueLocks:
    """The locks of one window's memory. All methods block.

    Args:
        fail: raises the error of an operation on a rank.
    """

    def __init__(self, communicator: Communicator, remote: Remote, fail: Raise) -> None:
        self._progress = communicator.progress
        self._me = communicator.rank
        self._remote = remote
        self._fail = fail
        self._reaches: Sequence[Reach] = ()
        self.segment = remote.allocate(WORD * (FIRST + PART * communicator.size))
        self._words = array_at(self.segment.address, self.segment.size // WORD, np.uint32)
        self._words[:] = 0

    def expose(self) -> Exposure:
        """Let the others reach the words. Raises BusError if there is no room for that."""
        return self._remote.expose(self.segment.address, self.segment.size, Access.WRITE | Access.ATOMIC)

    def connect(self, reaches: Sequence[Reach]) -> None:
        """Where the words of each rank are."""
        self._reaches = reaches

    def lock(self, rank: int, kind: LockType, why: Wait) -> None:
        self._enter(rank, why)
        if kind is LockType.SHARED:
            self._atomic(rank, STATE, Atomic.ADD, 1, why)
            self._leave(rank, why)
            return
        self._clear(rank, GRANTED)
        state = self._atomic(rank, STATE, Atomic.ADD, WAITER * (self._me + 1), why)
        if state & READERS:
            self._await(rank, GRANTED, why)

    def unlock(self, rank: int, kind: LockType, why: Wait) -> None:
        if kind is LockType.EXCLUSIVE:
            self._atomic(rank, STATE, Atomic.ADD, -WAITER * (self._me + 1), why)
            self._leave(rank, why)
            return
        state = self._atomic(rank, STATE, Atomic.ADD, -1, why)
        if state & READERS == 1 and state // WAITER:
            self._tell(state // WAITER - 1, rank, GRANTED, 1, why)

    def _enter(self, rank: int, why: Wait) -> None:
        """Until this process is the head of the queue."""
        self._clear(rank, NEXT)
        self._clear(rank, TURN)
        before = self._atomic(rank, TAIL, Atomic.SWAP, self._me + 1, why)
        if before:
            self._tell(before - 1, rank, NEXT, self._me + 1, why)
            self._await(rank, TURN, why)

    def _leave(self, rank: int, why: Wait) -> None:
        """The next in the queue is its head."""
        if not self._words[_word(rank, NEXT)]:
            last = self._atomic(rank, TAIL, Atomic.COMPARE_AND_SWAP, 0, why, self._me + 1)
            if last == self._me + 1:
                return
            self._await(rank, NEXT, why)  # it has queued, and tells so next
        self._tell(int(self._words[_word(rank, NEXT)]) - 1, rank, TURN, 1, why)

    def _atomic(self, rank: int, word: int, what: Atomic, operand: int, why: Wait, compare: int = 0) -> int:
        """Change a word of a rank's; what it was."""
        old = Scratch(WORD)
        with self._progress.lock:
            changed = self._remote.atomic(
                self._reaches[rank], WORD * word, what, WORD, operand & 0xFFFFFFFF, compare, old.address
            )
        self._wait(changed, rank, why)
        return int.from_bytes(old.data[:WORD].tobytes(), "little")

    def _tell(self, to: int, rank: int, which: int, value: int, why: Wait) -> None:
        """Write one of the words by which process `to` locks a rank's memory."""
        data = Scratch(WORD)
        data.data[:] = np.frombuffer(value.to_bytes(WORD, "little"), np.uint8)
        with self._progress.lock:
            put = self._remote.put(self._reaches[to], WORD * _word(rank, which), Run(data.address, WORD))
        self._wait(put, to, why)

    def _await(self, rank: int, which: int, why: Wait) -> None:
        """Until one of this process's own words is not 0."""
        with self._progress.lock:
            changed = self._remote.watch(self.segment, WORD * _word(rank, which), bytes(WORD))
        self._wait(changed, rank, why)

    def _clear(self, rank: int, which: int) -> None:
        self._words[_word(rank, which)] = 0

    def _wait(self, operation: Operation, rank: int, why: Wait) -> None:
        self._progress.wait(Pending(why, [operation]))
        if operation.error is not None:
            self._fail(why.call, operation.error, rank)


def _word(rank: int, which: int) -> int:
    return FIRST + PART * rank + which
