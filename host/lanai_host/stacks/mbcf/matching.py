"""Receives that wait and messages that have come by FIFO (MB-15), by context (MB-G6); and the receives in
the program's order."""

from collections import OrderedDict

from ...host_model import matcher
from ...host_model.meter import Meter
from ...operation import ANY_SOURCE
from .operations import Message, Receive, Send


class Matcher(matcher.Matcher[Receive, Message]):
    """Receives and messages that have not met.

    `by_source` has the receives that name a source, oldest first. `any_source` has the others:
    those behind one of them must not be asked for (MB-24).
    """

    def __init__(self, meter: Meter) -> None:
        super().__init__(meter)
        self._numbers = 0
        self.by_source: dict[int, OrderedDict[int, Receive]] = {}
        self.any_source: OrderedDict[int, Receive] = OrderedDict()

    def post(self, receive: Receive) -> None:
        super().post(receive)
        self._numbers += 1
        receive.number = self._numbers
        self._list(receive)[receive.number] = receive

    def withdraw(self, receive: Receive) -> None:
        super().withdraw(receive)
        del self._list(receive)[receive.number]

    def meet(self, source: int, tag: int, context: int) -> Receive | None:
        receive = super().meet(source, tag, context)
        if receive is not None:
            del self._list(receive)[receive.number]
        return receive

    def synchronous(self, source: int, serial: int) -> Message | None:
        """The synchronous message with that serial, if it has met no receive."""
        return next((one for one in self.messages if one.source == source and one.synchronous == serial), None)

    def own(self, send: Send) -> Message | None:
        """The message to itself that a synchronous send of this rank is, if it has met no receive."""
        return next((one for one in self.messages if one.own_send is send), None)

    def _list(self, receive: Receive) -> OrderedDict[int, Receive]:
        if receive.source == ANY_SOURCE:
            return self.any_source
        return self.by_source.setdefault(receive.source, OrderedDict())
