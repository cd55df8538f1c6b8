"""MPI_Wtime: reading the clock takes simulated time, so that a program which waits by reading it
comes to an end."""

from collections.abc import Callable

from ..config import HostCost
from ..device import Device

SHARE = 1024  # a reading takes at least this part of the time for which the program has done nothing but read
MANY = 10_000  # readings in a row
WAITS = 10  # readings in a row from which on other ranks may interrupt
LONGEST = 10_000_000  # picoseconds that a reading takes at most for that reason


class Clock:
    """The clock of one process.

    A reading takes `HostCosts.clock`. A program that does nothing else between two readings waits
    for a time, and each further reading takes a little more: the wait ends at most 10 microseconds
    late, and simulating it takes some thousand readings instead of millions. `only_read` is called
    once, when a program has read the clock `MANY` times in a row.
    """

    only_read: Callable[[], None] | None = None
    work: Callable[[int], bool] | None = None  # `World.work`

    def __init__(self, device: Device) -> None:
        self._device = device
        self._unit = device.price(HostCost.CLOCK)
        self._last = self._begun = -1
        self._row = 0

    def read(self, alone: bool = True) -> int:
        """Host time in picoseconds, after this reading. Other ranks may interrupt a program that waits by reading,
        if it is `alone`: not in the middle of an MPI call."""
        device = self._device
        now = device.now()
        if now != self._last:
            self._begun = now
            self._row = 0
        self._row += 1
        if self._row == MANY and self.only_read is not None:
            self.only_read()
            self.only_read = None
        longer = min((now - self._begun) // SHARE, LONGEST)
        units = max(1, longer // self._unit)
        if not alone or self._row < WAITS or self.work is None or not self.work(units * self._unit):
            device.charge(HostCost.CLOCK, units)
        self._last = device.now()
        return self._last
