"""Sends, receives and messages on their way."""

import ctypes
from collections import OrderedDict
from dataclasses import dataclass

from ...body import Body, Run
from ...host_model import matcher
from ...host_model import meter as operations
from ...host_model.meter import Meter
from ...operation import ANY_SOURCE, DeviceError


class OwnBytes(Run):
    """Bytes of the library's own, as a body."""

    def __init__(self, data: bytes) -> None:
        self._memory = ctypes.create_string_buffer(data, len(data) or 1)
        super().__init__(ctypes.addressof(self._memory), len(data))


class Send(operations.Send):
    """A message to `dest`.

    Attributes:
        data: of a message by FIFO that has begun: its bytes.
        copied: how many of them are in records.
        serial: of a message by FIFO; None before it has begun.
        eager: it goes by FIFO whatever requests there are.
        here: of a message by FIFO: its last record is at the peer.
        recalled: the program wants it back.
    """

    __slots__ = ("copied", "data", "eager", "here", "recalled", "serial")

    def __init__(self, source: int, dest: int, tag: int, context: int, body: Body, synchronous: bool) -> None:
        super().__init__(source, dest, tag, context, body, synchronous)
        self.data = b""
        self.copied = 0
        self.serial: int | None = None
        self.eager = False
        self.here = False
        self.recalled = False


class Receive(operations.Receive):
    """`number`: its place in the program's order."""

    __slots__ = ("number",)

    def __init__(self, source: int, tag: int, context: int, body: Body) -> None:
        super().__init__(source, tag, context, body)
        self.number = 0


@dataclass(slots=True, eq=False)
class Message(operations.Message):
    """A message that comes, or has come, by FIFO. Its bytes go to `receive`, or are kept in `data`.

    Attributes:
        synchronous: serial that its sender waits to see matched; None if it does not, or has been
            told.
        here: bytes of it that have come.
        probed: a probe has told the program of it.
        failure: why the rest of it does not come.
    """

    synchronous: int | None = None
    here: int = 0
    data: bytearray | None = None
    receive: Receive | None = None
    probed: bool = False
    failure: DeviceError | None = None

    @property
    def whole(self) -> bool:
        return self.here == self.length


# Receives that wait and messages that have come by FIFO (MB-15), by context (MB-G6); and the receives in
# the program's order.


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
