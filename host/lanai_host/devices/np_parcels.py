"""Messages and receives that the NIC has no room for, kept by the host (NP-G9, NP-50).

The NIC's message slots and receive entries are few; MPI allows any number of either. What it cannot hold waits here, in this
order of age within a channel: parcels (messages taken off the NIC) before messages on the NIC; receives on the NIC before receives
waiting here. A new receive therefore looks at the parcels first, and a new parcel at the waiting receives.
"""

from collections import deque
from dataclasses import dataclass

from ..device import ANY_SOURCE, ANY_TAG, Operation, Segments


@dataclass
class Parcel:
    """A message taken off the NIC: its body, or the promise of one."""

    source: int
    tag: int
    context: int
    length: int
    data: bytes | None  # None: still at its sender,
    handle: int = 0  # ... who knows it by this


class Receive(Operation):
    """A receive under way."""

    __slots__ = ("context", "hold", "index", "number", "placed", "segments", "wanted_source", "wanted_tag")

    def __init__(self, source: int, tag: int, context: int, segments: Segments) -> None:
        super().__init__(source, tag)
        self.wanted_source = source
        self.wanted_tag = tag
        self.context = context
        self.segments = segments
        self.placed = False  # on the NIC
        self.index = -1  # of its receive entry there
        self.number = 0  # by which the NIC reports it
        self.hold: object = None

    def takes(self, source: int, tag: int, context: int) -> bool:
        return (
            self.context == context and self.wanted_source in (source, ANY_SOURCE) and self.wanted_tag in (tag, ANY_TAG)
        )


class Parcels:
    """Both queues."""

    def __init__(self) -> None:
        self.parcels: deque[Parcel] = deque()
        self.receives: deque[Receive] = deque()
        self._compared = 0

    def compared(self) -> int:
        """Envelopes compared since the last call: work of the host's processor."""
        count, self._compared = self._compared, 0
        return count

    def find(self, source: int, tag: int, context: int) -> Parcel | None:
        """The oldest parcel that such a receive would take."""
        probe = Receive(source, tag, context, ())
        for parcel in self.parcels:
            self._compared += 1
            if probe.takes(parcel.source, parcel.tag, parcel.context):
                return parcel
        return None

    def claim(self, parcel: Parcel) -> Receive | None:
        """The oldest waiting receive that takes a new parcel; it leaves the queue."""
        for receive in self.receives:
            self._compared += 1
            if receive.takes(parcel.source, parcel.tag, parcel.context):
                self.receives.remove(receive)
                return receive
        return None
