"""Receives that wait and messages that have come by FIFO (MB-15), by context; and the receives in
the program's order."""

from collections import OrderedDict

from ...device import Envelope
from ...operation import ANY_SOURCE
from ..queues import Posted, Unexpected
from .operations import Message, Receive


class Matching:
    """Receives and messages that have not met.

    `by_source` has the receives that name a source, oldest first. `any_source` has the others:
        those behind one of them must not be
    asked for (MB-24).
    """

    def __init__(self) -> None:
        self._posted: dict[int, Posted[Receive]] = {}
        self._arrived: dict[int, Unexpected[Message]] = {}
        self._numbers = 0
        self.by_source: dict[int, OrderedDict[int, Receive]] = {}
        self.any_source: OrderedDict[int, Receive] = OrderedDict()

    def post(self, receive: Receive) -> None:
        self._posted.setdefault(receive.context, Posted()).add(receive)
        self._numbers += 1
        receive.number = self._numbers
        receive.posted = True
        self._list(receive)[receive.number] = receive

    def withdraw(self, receive: Receive) -> None:
        self._posted[receive.context].remove(receive)
        self._taken(receive)

    def meet(self, source: int, tag: int, context: int) -> Receive | None:
        """The oldest receive that such a message matches, taken off the queue."""
        posted = self._posted.get(context)
        receive = posted.take(source, tag) if posted else None
        if receive is not None:
            self._taken(receive)
        return receive

    def keep(self, message: Message) -> None:
        self._arrived.setdefault(message.context, Unexpected()).add(message)

    def find(self, source: int, tag: int, context: int) -> Message | None:
        """The oldest message that such a receive matches; it stays in the queue."""
        arrived = self._arrived.get(context)
        return arrived.find(source, tag) if arrived else None

    def remove(self, message: Message) -> None:
        self._arrived[message.context].remove(message)

    def unexpected(self) -> list[Envelope]:
        return [
            Envelope(message.source, message.tag, message.context, message.length)
            for queue in self._arrived.values()
            for message in queue
        ]

    def _list(self, receive: Receive) -> OrderedDict[int, Receive]:
        if receive.source == ANY_SOURCE:
            return self.any_source
        return self.by_source.setdefault(receive.source, OrderedDict())

    def _taken(self, receive: Receive) -> None:
        receive.posted = False
        del self._list(receive)[receive.number]
