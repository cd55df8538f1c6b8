"""The locks of one window at its target: who holds them, and who waits."""

from collections import deque
from collections.abc import Callable

from ..constants import LockType


class Locks:
    """Granted in the order in which they were asked for, so that no one waits for ever: a shared
    lock does not overtake an exclusive one that waits."""

    def __init__(self) -> None:
        self._holders: dict[int, LockType] = {}
        self._waiting: deque[tuple[int, LockType, Callable[[], None]]] = deque()

    def request(self, rank: int, kind: LockType, grant: Callable[[], None]) -> None:
        """`grant()` is called once `rank` has the lock, perhaps at once."""
        self._waiting.append((rank, kind, grant))
        self._grant()

    def release(self, rank: int) -> None:
        del self._holders[rank]
        self._grant()

    def held_by(self, rank: int) -> bool:
        return rank in self._holders

    def _grant(self) -> None:
        while self._waiting:
            rank, kind, grant = self._waiting[0]
            shared = kind is LockType.SHARED and LockType.EXCLUSIVE not in self._holders.values()
            if self._holders and not shared:
                return
            self._waiting.popleft()
            self._holders[rank] = kind
            grant()
