"""The match of messages and receives, where the host matches."""

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from ..config import HostCost, Queue
from ..device import Envelope, Pending
from .compared import compared
from .meter import Meter
from .operations import Receive
from .queues import Entry, Posted, Unexpected


class ArrivedMessage(Entry, Protocol):
    """A message that has arrived, or of which its sender has told."""

    context: int
    length: int


R = TypeVar("R", bound=Receive)
M = TypeVar("M", bound=ArrivedMessage)


class Matcher(Generic[R, M]):
    """Receives and messages that have not met: two queues, each looked at in the program's order.

    Each look charges the meter one MATCH for each envelope that is compared. `begin` and `arrive` pay; the caller of
    the others does.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._posted: dict[int, Posted[R]] = {}  # by context
        self._arrived: dict[int, Unexpected[M]] = {}
        self._receives = compared(meter.costs.queue)
        self._messages = compared(meter.costs.queue)
        self._searches = meter.costs.queue is Queue.LIST
        self.held = 0  # messages that wait
        self.waiting = 0  # receives that wait

    # Receives.

    def find(self, source: int, tag: int, context: int) -> M | None:
        """Return the oldest message that such a receive matches. It stays in its queue."""
        arrived = self._arrived.get(context)
        found, looks = arrived.find(source, tag) if arrived else (None, 0)
        self._charge(self._messages.count(None if found is None else found.order, looks))
        return found

    def remove(self, message: M) -> None:
        """A receive takes the message."""
        self._arrived[message.context].remove(message)
        self._messages.remove(message.order)
        self.held -= 1

    def post(self, receive: R) -> None:
        """No message is there for the receive: it waits."""
        receive.order = self._receives.add()
        self.waiting += 1
        posted = self._posted.get(receive.context)
        if posted is None:
            posted = self._posted[receive.context] = Posted()
        posted.add(receive)
        receive.posted = True

    def begin(self, receive: R) -> M | None:
        """Return the message that a new receive takes; without one, the receive waits."""
        message = self.find(receive.source, receive.tag, receive.context)
        if message is None:
            self.post(receive)
        else:
            self.remove(message)
        self._meter.pay()
        return message

    def withdraw(self, receive: R) -> None:
        """The receive waits no longer."""
        self._posted[receive.context].remove(receive)
        self._gone(receive)

    # Messages.

    def meet(self, source: int, tag: int, context: int) -> R | None:
        """Return the oldest receive that such a message matches. It leaves its queue."""
        posted = self._posted.get(context)
        receive, looks = (None, 0) if posted is None else posted.take(source, tag)
        self._charge(self._receives.count(None if receive is None else receive.order, looks))
        if receive is not None:
            self._gone(receive)
        return receive

    def keep(self, message: M) -> None:
        """No receive is there for the message: it waits."""
        message.order = self._messages.add()
        self.held += 1
        arrived = self._arrived.get(message.context)
        if arrived is None:
            arrived = self._arrived[message.context] = Unexpected()
        arrived.add(message)

    def arrive(self, message: M) -> R | None:
        """Return the receive that takes a new message; without one, the message waits."""
        receive = self.meet(message.source, message.tag, message.context)
        if receive is None:
            self.keep(message)
        self._meter.pay()
        return receive

    # What waits.

    def idle(self, context: int) -> bool:
        """Is nothing of this context in a queue?"""
        if not self.held and not self.waiting:
            return True
        return not self._posted.get(context) and not self._arrived.get(context)

    def idle_envelopes(self) -> tuple[int, int]:
        """Return how many envelopes are compared for the first receive of an idle context, and for its
        message, which comes later."""
        return (self.held, self.waiting + 1) if self._searches else (0, 1)

    @property
    def receives(self) -> Iterator[R]:
        """The receives that wait, the oldest first within a context."""
        return (receive for posted in self._posted.values() for receive in posted)

    @property
    def messages(self) -> Iterator[M]:
        """The messages that wait, the oldest first within a context."""
        return (message for arrived in self._arrived.values() for message in arrived)

    def posted(self) -> list[Pending]:
        """Describe the receives that wait."""
        return [Pending(False, one.source, one.tag, one.context, one.body.size) for one in self.receives]

    def unexpected(self) -> list[Envelope]:
        """Describe the messages that wait."""
        return [Envelope(one.source, one.tag, one.context, one.length) for one in self.messages]

    def _gone(self, receive: R) -> None:
        self._receives.remove(receive.order)
        self.waiting -= 1
        receive.posted = False

    def _charge(self, envelopes: int) -> None:
        if envelopes:
            self._meter.charge(HostCost.MATCH, envelopes)
