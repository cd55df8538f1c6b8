"""Messages and receives that the NIC has no room for, kept by the host (NP-G9, NP-50).

The NIC's message slots and receive entries are few; MPI allows any number of either. What it cannot
hold waits here, in this order of age within a channel: messages that the host holds before messages
on the NIC; receives on the NIC before receives waiting here. A new receive therefore looks at the
held messages first, and a newly held message at the waiting receives.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from ..queues import Posted, Unexpected
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
    order: int = 0  # the queue's


class WaitingReceives:
    """Receives in the order in which they were begun."""

    def __init__(self) -> None:
        self._all: OrderedDict[Receive, None] = OrderedDict()
        self._posted: dict[int, Posted[Receive]] = {}  # by context

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Receive]:
        return iter(self._all)

    def __contains__(self, receive: Receive) -> bool:
        return receive in self._all

    def add(self, receive: Receive) -> None:
        self._all[receive] = None
        self._posted.setdefault(receive.context, Posted()).add(receive)

    def oldest(self) -> Receive:
        return next(iter(self._all))

    def remove(self, receive: Receive) -> None:
        del self._all[receive]
        posted = self._posted[receive.context]
        posted.remove(receive)
        if not posted:
            del self._posted[receive.context]

    def clear(self) -> None:
        self._all.clear()
        self._posted.clear()

    def match(self, message: HeldMessage) -> tuple[Receive | None, int]:
        """The oldest receive that takes the message, and how many looks that took. It leaves the
        queue."""
        posted = self._posted.get(message.context)
        if posted is None:
            return None, 0
        looks = posted.looks
        receive = posted.take(message.source, message.tag)
        if receive is not None:
            del self._all[receive]
            if not posted:
                del self._posted[message.context]
        return receive, looks


class HeldMessages:
    """Messages in the order in which they came."""

    def __init__(self) -> None:
        self._all: OrderedDict[HeldMessage, None] = OrderedDict()
        self._arrived: dict[int, Unexpected[HeldMessage]] = {}  # by context

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[HeldMessage]:
        return iter(self._all)

    def add(self, message: HeldMessage) -> None:
        self._all[message] = None
        self._arrived.setdefault(message.context, Unexpected()).add(message)

    def remove(self, message: HeldMessage) -> None:
        del self._all[message]
        arrived = self._arrived[message.context]
        arrived.remove(message)
        if not arrived:
            del self._arrived[message.context]

    def match(self, source: int, tag: int, context: int) -> tuple[HeldMessage | None, int]:
        """The oldest message that such a receive takes, and how many looks that took. It stays in
        the queue."""
        arrived = self._arrived.get(context)
        return (None, 0) if arrived is None else (arrived.find(source, tag), 1)


class HostQueues:
    """Both queues."""

    def __init__(self) -> None:
        self.messages = HeldMessages()
        self.receives = WaitingReceives()
        self._looks = 0

    def looks(self) -> int:
        """Looks in hash tables since the last call: work of the host's processor."""
        count, self._looks = self._looks, 0
        return count

    def find(self, source: int, tag: int, context: int) -> HeldMessage | None:
        """The oldest message held that such a receive would take."""
        found, looks = self.messages.match(source, tag, context)
        self._looks += looks
        return found

    def claim(self, message: HeldMessage) -> Receive | None:
        """The oldest waiting receive that takes a new message; it leaves the queue."""
        found, looks = self.receives.match(message)
        self._looks += looks
        return found
