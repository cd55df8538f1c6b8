"""Packets become messages, and messages meet receives (CC-18, CC-19)."""

from collections.abc import Callable

from lanai_firmware.programs.ccu.layout import MPI_HEAD, MPI_TAIL

from ...bus.base import Bus
from ...config import HostCost, HostCosts
from ...operation import ErrorKind
from ..host_operations import Receive, fail
from ..matching import Matching
from .daemon import Arrival
from .operations import HEADER, Kind, Message, finish, write

SOURCE = (1 << 16) - 1  # in a packet's tag


class Receiving:
    """`taken(rank, serial)` answers a synchronous message; `answered(serial)` says that one of ours
    was.

    Attributes:
        copied: bytes that went through the local buffer, because no receive was there for them.
    """

    def __init__(
        self, bus: Bus, costs: HostCosts, taken: Callable[[int, int], None], answered: Callable[[int], None]
    ) -> None:
        self._bus = bus
        self._costs = costs
        self._taken = taken
        self._answered = answered
        self.matching: Matching[Receive, Message] = Matching()
        self._coming: dict[int, Message] = {}  # messages that are not whole, by source
        self._waiting: set[Receive] = set()  # receives that are not done
        self.copied = 0

    async def take(self, arrival: Arrival) -> None:
        """A packet. Those of one source come in order, a message after the other."""
        source = arrival.tag & SOURCE
        content = arrival.content
        await self._bus.elapse(self._costs.price(HostCost.COMPLETE))
        if arrival.tag & int(MPI_HEAD):
            kind, context, tag, length, serial = HEADER.unpack_from(content)
            content = content[HEADER.size :]
            if kind == Kind.TAKEN:
                self._answered(serial)
                return
            serial = serial if kind == Kind.SYNCHRONOUS else 0
            self._coming[source] = Message(source, tag, context, length, serial)
            await self._begin(self._coming[source])
        message = self._coming[source]
        await self._add(message, content)
        if arrival.tag & int(MPI_TAIL):
            assert message.is_whole, f"{message.came} of {message.length} bytes came from rank {source}"
            del self._coming[source]

    async def accept(self, message: Message, data: bytes) -> None:
        """A message with all its bytes."""
        await self._begin(message)
        await self._add(message, data)

    async def _begin(self, message: Message) -> None:
        """A message whose bytes `_add` will bring. Its place among others counts from here on."""
        await self._bus.elapse(self._costs.price(HostCost.MATCH))
        receive = self.matching.meet(message.source, message.tag, message.context)
        if receive is None:
            message.data = bytearray()
            self.matching.keep(message)
        else:
            self._meet(message, receive)

    async def _add(self, message: Message, data: memoryview | bytes) -> None:
        """The next bytes: straight to the program's memory if a receive is there, else to the local
        buffer."""
        await self._bus.elapse(self._costs.price(HostCost.COPY, len(data)))
        if message.receive is not None:
            write(message.receive, message.came, data)
        else:
            assert message.data is not None
            message.data += data
            self.copied += len(data)
        message.came += len(data)
        self._finish_whole(message)

    async def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        await self._bus.elapse(self._costs.price(HostCost.MATCH))
        message = self.matching.find(receive.source, receive.tag, receive.context)
        if message is not None:
            self.matching.remove(message)
            await self.take_kept(message, receive)
            return
        self.matching.post(receive)
        self._waiting.add(receive)

    async def take_kept(self, message: Message, receive: Receive) -> None:
        """A receive takes a message from the local buffer, as much of it as is there. The rest goes
        to it directly."""
        assert message.data is not None
        await self._bus.elapse(self._costs.price(HostCost.COPY, len(message.data)))
        write(receive, 0, message.data)
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
            finish(message.receive, message)

    def forget(self, receive: Receive) -> None:
        """A receive that had met no message has been cancelled."""
        self._waiting.discard(receive)

    def fail_all(self, text: str) -> None:
        for receive in self._waiting:
            if receive.posted:
                self.matching.withdraw(receive)
            fail(receive, ErrorKind.PEER_FAILED, text)
        self._waiting.clear()
