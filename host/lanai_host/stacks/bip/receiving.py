"""Packets become messages, and messages meet receives, on the host."""

from collections import deque

from lanai_firmware.programs.bip.layout import Type

from ...bus.base import BusError
from ...config import HostCost
from ...host_model.matcher import Matcher
from ...host_model.meter import Meter, Receive, fail
from ...operation import ErrorKind
from ..pinning import Pins
from .link import Link, landing_size
from .operations import Landing, Message, Region
from .outbox import Outbox
from .packets import Head


class Receiving:
    """Messages to this rank. One long message of a channel is on its way at a time; others wait."""

    def __init__(self, meter: Meter, link: Link, outbox: Outbox, pins: Pins, ranks: int) -> None:
        self._meter = meter
        self._link = link
        self._outbox = outbox
        self._pins = pins
        self.matcher: Matcher[Receive, Message] = Matcher(meter)
        self._landings: list[deque[Landing]] = [deque() for _ in range(ranks)]  # the first has the NIC's landing
        self.busy = 0  # landings

    def take_packet(self, source: int, head: Head, data: bytes) -> None:
        """A packet with the envelope of a message."""
        body = None if head.type == Type.ASK else data[: head.length]
        self.arrive(Message(source, head.tag, head.context, head.length, body, head.handle))

    def arrive(self, message: Message) -> None:
        """A message meets its receive, or is kept: its bytes, if it has any, are copied then too."""
        receive = self.matcher.arrive(message)
        if receive is not None:
            self.take(message, receive)
        elif message.data:
            self._meter.spend(HostCost.COPY, len(message.data))

    def receive(self, receive: Receive) -> None:
        """Take a message that waits, or wait for one."""
        message = self.matcher.begin(receive)
        if message is not None:
            self.take(message, receive)

    def take(self, message: Message, receive: Receive) -> None:
        """A receive has its message, or the promise of it."""
        if message.data is None:
            self._await_long(message, receive)
            return
        if message.own_send is not None:
            message.own_send.done = True
        elif message.handle:
            self._outbox.put_head(message.source, Head(Type.TAKEN, handle=message.handle))
        receive.put(self._meter, 0, memoryview(message.data))
        receive.finish(message.source, message.tag, message.length)

    def advance(self) -> None:
        """Continue with the landings that are complete."""
        if not self.busy:
            return
        for source, landings in enumerate(self._landings):
            if landings and self._link.has_landed(source):
                self._continue(landings)

    def fail_all(self, receives: list[Receive], kind: ErrorKind, text: str) -> None:
        for landings in self._landings:
            for landing in landings:
                fail(landing.receive, kind, text)
            landings.clear()
        self.busy = 0
        for receive in receives:
            fail(receive, kind, text)

    def _await_long(self, message: Message, receive: Receive) -> None:
        """Ask for a long message behind those of its channel that were asked for before."""
        receive.source, receive.tag = message.source, message.tag
        landings = self._landings[message.source]
        landings.append(Landing(message, receive, self._lend(message, receive)))
        self.busy += 1
        if len(landings) == 1:
            self._grant(landings)

    def _lend(self, message: Message, receive: Receive) -> Region | None:
        """Pin the memory that the bytes of a message shall go to. None if there is none."""
        size = min(message.length, receive.body.size)
        if not size:
            return None
        try:
            return Region(self._pins, self._meter, receive.body, size, writable=True)
        except BusError as error:
            fail(receive, ErrorKind.BUS_ERROR, str(error))
            return None

    def _grant(self, landings: deque[Landing]) -> None:
        """Have the next bytes of the first message of a channel sent. The sender of one that is to have none
        is told so, and the next one follows."""
        while landings:
            landing = landings[0]
            message, region = landing.message, landing.region
            if region is not None:
                size = landing_size(region.address + region.done, region.size - region.done)
                self._link.land(message.source, region.pinned, region.address + region.done, size)
                region.done += size
                self._tell(message, size, last=region.done == region.size)
                return
            self._tell(message, 0, last=True)
            self._end(landings)

    def _tell(self, message: Message, size: int, *, last: bool) -> None:
        head = Head(Type.GRANT, tag=message.source, length=size, sequence=int(last), handle=message.handle)
        self._outbox.put_head(message.source, head)

    def _continue(self, landings: deque[Landing]) -> None:
        """All that was granted of the first message of a channel is there."""
        region = landings[0].region
        assert region is not None
        if region.done == region.size:
            region.release()
            region.write_back(landings[0].receive)
            self._end(landings)
        self._grant(landings)

    def _end(self, landings: deque[Landing]) -> None:
        landing = landings.popleft()
        self.busy -= 1
        if not landing.receive.done:  # its memory could not be written
            message = landing.message
            landing.receive.finish(message.source, message.tag, message.length)
