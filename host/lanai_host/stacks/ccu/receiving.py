"""Packets become messages, and messages meet receives (CC-18, CC-19)."""

from collections.abc import Callable

from lanai_firmware.programs.ccu.layout import MPI_HEAD, MPI_TAIL

from ...config import HostCost
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter
from ...host_model.operations import Receive, fail
from ...operation import ErrorKind
from .daemon import Arrival
from .operations import HEADER, Kind, Message

SOURCE = (1 << 16) - 1  # in a packet's tag


class Receiving:
    """`taken(rank, serial)` answers a synchronous message; `answered(serial)` says that one of ours
    was.

    Attributes:
        copied: bytes that went through the local buffer, because no receive was there for them.
    """

    def __init__(self, meter: Meter, taken: Callable[[int, int], None], answered: Callable[[int], None]) -> None:
        self._meter = meter
        self._taken = taken
        self._answered = answered
        self.matcher: Matcher[Receive, Message] = Matcher(meter)
        self._coming: dict[int, Message] = {}  # messages that are not whole, by source
        self._waiting: set[Receive] = set()  # receives that are not done
        self.copied = 0

    def take(self, arrival: Arrival) -> None:
        """A packet. Those of one source come in order, a message after the other."""
        source = arrival.tag & SOURCE
        content = arrival.content
        self._meter.spend(HostCost.COMPLETE)
        if arrival.tag & int(MPI_HEAD):
            kind, context, tag, length, serial = HEADER.unpack_from(content)
            content = content[HEADER.size :]
            if kind == Kind.TAKEN:
                self._answered(serial)
                return
            serial = serial if kind == Kind.SYNCHRONOUS else 0
            self._coming[source] = Message(source, tag, context, length, serial)
            self._begin(self._coming[source])
        message = self._coming[source]
        self._add(message, content)
        if arrival.tag & int(MPI_TAIL):
            assert message.is_whole, f"{message.came} of {message.length} bytes came from rank {source}"
            del self._coming[source]

    def accept(self, message: Message, data: bytes) -> None:
        """A message with all its bytes."""
        self._begin(message)
        self._add(message, data)

    def _begin(self, message: Message) -> None:
        """A message whose bytes `_add` will bring. Its place among others counts from here on."""
        receive = self.matcher.arrive(message)
        if receive is None:
            message.data = bytearray()
        else:
            self._meet(message, receive)

    def _add(self, message: Message, data: memoryview | bytes) -> None:
        """The next bytes: straight to the program's memory if a receive is there, else to the local
        buffer."""
        if message.receive is not None:
            message.receive.put(self._meter, message.came, memoryview(data))
        else:
            assert message.data is not None
            self._meter.spend(HostCost.COPY, len(data))
            message.data += data
            self.copied += len(data)
        message.came += len(data)
        self._finish_whole(message)

    def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        message = self.matcher.begin(receive)
        if message is not None:
            self.take_kept(message, receive)
            return
        self._waiting.add(receive)

    def take_kept(self, message: Message, receive: Receive) -> None:
        """A receive takes a message from the local buffer, as much of it as is there. The rest goes
        to it directly."""
        assert message.data is not None
        receive.put(self._meter, 0, memoryview(message.data))
        message.data = None
        self._meet(message, receive)
        self._finish_whole(message)

    def _meet(self, message: Message, receive: Receive) -> None:
        message.receive = receive
        receive.source, receive.tag = message.source, message.tag
        self._waiting.add(receive)
        if message.serial:
            self._taken(message.source, message.serial)

    def _finish_whole(self, message: Message) -> None:
        if message.receive is not None and message.is_whole:
            self._waiting.discard(message.receive)
            message.receive.finish(message.source, message.tag, message.length)

    def forget(self, receive: Receive) -> None:
        """A receive that had met no message has been cancelled."""
        self._waiting.discard(receive)

    def fail_all(self, text: str, kind: ErrorKind) -> None:
        for receive in self._waiting:
            if receive.posted:
                self.matcher.withdraw(receive)
            fail(receive, kind, text)
        self._waiting.clear()
