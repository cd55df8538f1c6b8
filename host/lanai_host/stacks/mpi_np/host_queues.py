"""Messages and receives that the NIC has no room for, kept by the host (NP-G9, NP-50).

The NIC's message slots and receive entries are few; MPI allows any number of either. What it cannot
hold waits here, in this order of age within a channel: messages that the host holds before messages
on the NIC; receives on the NIC before receives waiting here. A new receive therefore looks at the
held messages first, and a newly held message at the waiting receives.
"""

from collections import deque
from dataclasses import dataclass

from ...body import NOTHING
from .operations import Receive


@dataclass
class HeldMessage:
    """A message taken off the NIC: its body, or the promise of one."""

    source: int
    tag: int
    context: int
    length: int
    data: bytes | None  # None: still at its sender,
    handle: int = 0  # ... who knows it by this


class HostQueues:
    """Both queues."""

    def __init__(self) -> None:
        self.messages: deque[HeldMessage] = deque()
        self.receives: deque[Receive] = deque()
        self._compared = 0

    def compared(self) -> int:
        """Envelopes compared since the last call: work of the host's processor."""
        count, self._compared = self._compared, 0
        return count

    def find(self, source: int, tag: int, context: int) -> HeldMessage | None:
        """The oldest message held that such a receive would take."""
        probe = Receive(source, tag, context, NOTHING)
        for message in self.messages:
            self._compared += 1
            if probe.takes(message.source, message.tag, message.context):
                return message
        return None

    def claim(self, message: HeldMessage) -> Receive | None:
        """The oldest waiting receive that takes a new message; it leaves the queue."""
        for receive in self.receives:
            self._compared += 1
            if receive.takes(message.source, message.tag, message.context):
                self.receives.remove(receive)
                return receive
        return None
