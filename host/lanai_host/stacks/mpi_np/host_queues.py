"""Messages and receives that the NIC has no room for, kept by the host (NP-G9, NP-50).

The NIC's message slots and receive entries are few; MPI allows any number of either. What it cannot
hold waits here, in this order of age within a channel: messages that the host holds before messages
on the NIC; receives on the NIC before receives waiting here. A new receive therefore looks at the
held messages first, and a newly held message at the waiting receives.
"""

from collections import OrderedDict
from dataclasses import dataclass

from ...host_model.matcher import Matcher
from ...host_model.meter import Meter
from .operations import Receive


@dataclass(eq=False)
class HeldMessage:
    """A message taken off the NIC: its body, or the promise of one."""

    source: int
    tag: int
    context: int
    length: int
    data: bytes | None  # None: still at its sender,
    handle: int = 0  # ... who knows it by this
    order: int = 0  # the matcher's


class HostQueues(Matcher[Receive, HeldMessage]):
    """Both queues. `begun` has the receives that wait, in the order in which they were begun."""

    def __init__(self, meter: Meter) -> None:
        super().__init__(meter)
        self.begun: OrderedDict[Receive, None] = OrderedDict()

    def post(self, receive: Receive) -> None:
        super().post(receive)
        self.begun[receive] = None

    def withdraw(self, receive: Receive) -> None:
        super().withdraw(receive)
        del self.begun[receive]

    def meet(self, source: int, tag: int, context: int) -> Receive | None:
        receive = super().meet(source, tag, context)
        if receive is not None:
            del self.begun[receive]
        return receive

    def oldest(self) -> Receive:
        """Return the receive that was begun first of those that wait."""
        return next(iter(self.begun))
