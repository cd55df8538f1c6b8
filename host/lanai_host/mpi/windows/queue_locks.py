"""Locks of targets by atomics on words in their memory: nothing of a target's processor is needed
(SC-23).

Who locks queues at the target (Mellor-Crummey and Scott): a process waits for a word of its own,
which the one before it writes. An exclusive lock is the head of the queue for as long as it is
held. A shared one leaves the queue at once, and is counted. So locks are granted in the order in
which they were asked for.
"""

from ...remote import Atomic
from ...wait import Wait
from ..constants import LockType
from .words import GRANTED, NEXT, STATE, TAIL, TURN, Words

READERS = (1 << 16) - 1  # of STATE: shared locks held; above them, the rank that waits for their end
WAITER = 1 << 16


class QueueLocks:
    """The locks of one window's memory, as rank `me` uses them. All methods block."""

    def __init__(self, words: Words, me: int) -> None:
        self._words = words
        self._me = me

    def lock(self, rank: int, kind: LockType, why: Wait) -> None:
        self._enter(rank, why)
        if kind is LockType.SHARED:
            self._words.change(rank, STATE, Atomic.ADD, 1, why)
            self._leave(rank, why)
            return
        self._words.set(rank, GRANTED, 0)
        state = self._words.change(rank, STATE, Atomic.ADD, WAITER * (self._me + 1), why)
        if state & READERS:
            self._words.until_set(rank, GRANTED, why)

    def unlock(self, rank: int, kind: LockType, why: Wait) -> None:
        if kind is LockType.EXCLUSIVE:
            self._words.change(rank, STATE, Atomic.ADD, -WAITER * (self._me + 1), why)
            self._leave(rank, why)
            return
        state = self._words.change(rank, STATE, Atomic.ADD, -1, why)
        if state & READERS == 1 and state // WAITER:
            self._words.tell(state // WAITER - 1, rank, GRANTED, 1, why)

    def _enter(self, rank: int, why: Wait) -> None:
        """Until this process is the head of the queue."""
        self._words.set(rank, NEXT, 0)
        self._words.set(rank, TURN, 0)
        before = self._words.change(rank, TAIL, Atomic.SWAP, self._me + 1, why)
        if before:
            self._words.tell(before - 1, rank, NEXT, self._me + 1, why)
            self._words.until_set(rank, TURN, why)

    def _leave(self, rank: int, why: Wait) -> None:
        """The next in the queue is its head."""
        if not self._words.get(rank, NEXT):
            last = self._words.change(rank, TAIL, Atomic.COMPARE_AND_SWAP, 0, why, self._me + 1)
            if last == self._me + 1:
                return
            self._words.until_set(rank, NEXT, why)  # it has queued, and tells so next
        self._words.tell(self._words.get(rank, NEXT) - 1, rank, TURN, 1, why)
