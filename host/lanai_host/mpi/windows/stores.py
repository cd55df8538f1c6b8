"""Stores of a target's own program that race with accesses of an active epoch.

The window's bytes are compared with a copy that follows the accesses. A byte that differs was stored
by the program. Stores that leave a byte as it was are not seen, nor are loads, nor stores under
passive synchronization, where the program may have ordered them by other means.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from ..memory import array_at
from .memory import Memory

Runs = Iterable[tuple[int, int]]  # (offset, bytes)
MOST_COPIED = 1 << 28  # bytes; the stores to a larger window are not watched


class LocalStores:
    """The stores of one process to its part of a window.

    A fence is entered (`enter_fence`) before accesses of the epoch that it ends have all come, and
    left (`leave_fence`) when accesses of the next one may have come.
    """

    def __init__(self, memory: Memory, report: Callable[[str, int], None]) -> None:
        """`report` takes the call of an access and a byte that was stored to in its epoch."""
        self._memory = array_at(memory.base, memory.size, "u1")
        self._report = report
        self._copy = self._memory.copy()
        self._touched: list[tuple[str, tuple[tuple[int, int], ...]]] = []
        self._stored: npt.NDArray[np.bool_] | None = None  # in the epoch that the fence under way ends
        self._open = False
        self._epoch = 0

    def enter_fence(self, epoch: int) -> None:
        """The program stores nothing until `leave_fence`."""
        self._judge()
        self._epoch = epoch
        self._stored = self._memory != self._copy if self._open else np.zeros(0, bool)
        self._follow()

    def leave_fence(self) -> None:
        """The next epoch is open."""
        self._stored, self._open = None, True

    def open(self) -> None:
        """An exposure epoch begins; what was stored before it is over."""
        self._open = True
        self._follow()

    def close(self) -> None:
        """The exposure epoch has ended."""
        self._judge()
        self._open = False

    def access(self, call: str, runs: tuple[tuple[int, int], ...], epoch: int, own: bool) -> None:
        """An access of an active epoch is about to take effect. `own`: the program's own, which
        comes after what it has stored."""
        stored = self._stored
        if own:
            self.changed(runs)
            self._touched.append((call, runs))
        elif stored is not None and epoch == self._epoch:
            self._find(call, runs, lambda begin, end: stored[begin:end])
        elif self._open or stored is not None:
            self._find(call, runs, self._differs)
            self._touched.append((call, runs))

    def changed(self, runs: Runs) -> None:
        """An access has taken effect there."""
        for offset, size in runs:
            self._copy[offset : offset + size] = self._memory[offset : offset + size]

    def _follow(self) -> None:
        self._copy[:] = self._memory
        self._touched.clear()

    def _judge(self) -> None:
        """Report stores to what the epoch's accesses have touched."""
        for call, runs in self._touched:
            self._find(call, runs, self._differs)

    def _differs(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        differs: npt.NDArray[np.bool_] = self._memory[begin:end] != self._copy[begin:end]
        return differs

    def _find(self, call: str, runs: Runs, stored: Callable[[int, int], npt.NDArray[np.bool_]]) -> None:
        for offset, size in runs:
            found = np.flatnonzero(stored(offset, offset + size))
            if len(found):
                self._report(call, offset + int(found[0]))
                return
