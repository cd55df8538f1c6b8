"""Which message meets which receive, where the host matches: two queues a context."""

from typing import Generic, Protocol, TypeVar

from ..device import Envelope, Pending
from .host_operations import Receive
from .queues import Entry, Posted, Unexpected


class ArrivedMessage(Entry, Protocol):
    context: int
    length: int


R = TypeVar("R", bound=Receive)
M = TypeVar("M", bound=ArrivedMessage)


class Matching(Generic[R, M]):
    """Receives and messages that have not met."""

    def __init__(self) -> None:
        self._posted: dict[int, Posted[R]] = {}
        self._arrived: dict[int, Unexpected[M]] = {}

    def post(self, receive: R) -> None:
        self._posted.setdefault(receive.context, Posted()).add(receive)
        receive.posted = True

    def withdraw(self, receive: R) -> None:
        self._posted[receive.context].remove(receive)
        receive.posted = False

    def meet(self, source: int, tag: int, context: int) -> R | None:
        """The oldest receive that such a message matches, taken off the queue."""
        posted = self._posted.get(context)
        receive = posted.take(source, tag) if posted else None
        if receive is not None:
            receive.posted = False
        return receive

    def keep(self, message: M) -> None:
        self._arrived.setdefault(message.context, Unexpected()).add(message)

    def find(self, source: int, tag: int, context: int) -> M | None:
        """The oldest message that such a receive matches; it stays in the queue."""
        arrived = self._arrived.get(context)
        return arrived.find(source, tag) if arrived else None

    def remove(self, message: M) -> None:
        self._arrived[message.context].remove(message)

    def posted(self) -> list[Pending]:
        """Receives that no message has met."""
        return [
            Pending(False, one.source, one.tag, one.context, one.body.size)
            for queue in self._posted.values()
            for one in queue
        ]

    def unexpected(self) -> list[Envelope]:
        """The messages that no receive has taken, in order of arrival within a context."""
        messages = [message for arrived in self._arrived.values() for message in arrived]
        return [Envelope(one.source, one.tag, one.context, one.length) for one in messages]
