"""Which message meets which receive: on the receiver's host (T3-03, T3-14, T3-16)."""

from ...device import Envelope, Pending
from ..queues import Posted, Unexpected
from .operations import Message, Receive


class Matching:
    """Receives and messages that have not met, by context."""

    def __init__(self) -> None:
        self._posted: dict[int, Posted[Receive]] = {}
        self._arrived: dict[int, Unexpected[Message]] = {}

    def post(self, receive: Receive) -> None:
        self._posted.setdefault(receive.context, Posted()).add(receive)
        receive.posted = True

    def withdraw(self, receive: Receive) -> None:
        self._posted[receive.context].remove(receive)
        receive.posted = False

    def meet(self, source: int, tag: int, context: int) -> Receive | None:
        """The oldest receive that such a message matches, taken off the queue."""
        posted = self._posted.get(context)
        receive = posted.take(source, tag) if posted else None
        if receive is not None:
            receive.posted = False
        return receive

    def keep(self, message: Message) -> None:
        self._arrived.setdefault(message.context, Unexpected()).add(message)

    def find(self, source: int, tag: int, context: int) -> Message | None:
        """The oldest message that such a receive matches; it stays in the queue."""
        arrived = self._arrived.get(context)
        return arrived.find(source, tag) if arrived else None

    def remove(self, message: Message) -> None:
        self._arrived[message.context].remove(message)

    def posted(self) -> list[Pending]:
        """Receives that no message has met."""
        return [
            Pending(False, one.source, one.tag, one.context, one.body.size)
            for queue in self._posted.values()
            for one in queue
        ]

    def unexpected(self) -> list[Envelope]:
        return [
            Envelope(message.source, message.tag, message.context, message.length)
            for queue in self._arrived.values()
            for message in queue
        ]
