"""The one place where host work is charged."""

from collections.abc import Callable

from ..config import HostCost, HostCosts
from ..device import ChargeSink


class Meter:
    """A rank's processor, as a clock: work is charged first, and its time passes when it is paid.

    Members:
        costs: what work costs.
        sink: told of all work, before its time passes.
        owed: picoseconds that have been charged and not paid.
    """

    __slots__ = ("_elapse", "_prices", "costs", "owed", "sink")

    def __init__(self, costs: HostCosts, elapse: Callable[[int], None]) -> None:
        """`elapse` lets picoseconds pass."""
        self.costs = costs
        self.sink: ChargeSink | None = None
        self.owed = 0
        self._elapse = elapse
        self._prices = {what.value: costs.price(what) for what in HostCost}

    def charge(self, what: HostCost, count: int = 1) -> None:
        """The processor does so many units of work."""
        cost = self._prices[what._value_] * count  # `value` is a property, and slow
        if self.sink is not None and count:
            self.sink(what, count, cost)
        self.owed += cost

    def take(self) -> int:
        """Return what is owed, which the caller lets pass."""
        owed, self.owed = self.owed, 0
        return owed

    def pay(self) -> None:
        """Let the time pass that is owed."""
        owed = self.owed
        if owed:
            self.owed = 0
            self._elapse(owed)

    def spend(self, what: HostCost, count: int = 1) -> None:
        """Charge work and pay for it. On a host whose work is free, others may come to their turn here too."""
        cost = self._prices[what._value_] * count
        if self.sink is not None and count:
            self.sink(what, count, cost)
        owed, self.owed = self.owed + cost, 0
        self._elapse(owed)
