"""Sends: short ones leave at once, as far as credit goes. Long ones tell of themselves, and wait until their
receivers grant them (rendezvous)."""

from collections import deque
from typing import NamedTuple

from lanai_firmware.programs.bip.layout import Type

from ...bus.base import BusError
from ...host_model.meter import Meter, fail
from ...operation import ErrorKind
from ..pinning import Pins
from .link import Link
from .operations import Region, Send
from .options import BipOptions
from .outbox import Outbox
from .packets import Head


class Grant(NamedTuple):
    """Bytes of a long send that its receiver awaits. `last`: it will have no more."""

    send: Send
    size: int
    last: bool


class Sending:
    """Sends of this rank that are not done. The NIC moves one long message at a time; others wait."""

    def __init__(self, meter: Meter, link: Link, outbox: Outbox, pins: Pins, options: BipOptions, ranks: int) -> None:
        self._meter = meter
        self._link = link
        self._outbox = outbox
        self._pins = pins
        self._options = options
        self._sequences = [0] * ranks
        self._handle = 0
        self._unwritten: list[Send] = []  # in the order in which they were started
        self._answered: dict[int, Send] = {}  # sends that wait for an answer, by handle
        self._grants: deque[Grant] = deque()
        self._moving: Grant | None = None  # what the NIC has

    @property
    def is_idle(self) -> bool:
        return not (self._unwritten or self._answered or self._grants or self._moving)

    def queue(self, send: Send) -> None:
        """A message that leaves behind those before it to the same rank."""
        self._unwritten.append(send)
        self._outbox.put(send.dest, lambda: self._make(send))

    def pending(self) -> list[Send]:
        """Sends that are not done."""
        return [*self._answered.values(), *self._unwritten]

    def taken(self, handle: int) -> None:
        """A receive has a synchronous message."""
        self._answered.pop(handle).done = True

    def grant(self, handle: int, size: int, last: bool) -> None:
        """The receiver of a long message awaits its next bytes."""
        self._grants.append(Grant(self._answered[handle], size, last))
        self.advance()

    def advance(self) -> None:
        """See whether the NIC has taken the bytes that it was given, and give it the next."""
        if self._moving is not None and self._link.long_is_free:
            grant, self._moving = self._moving, None
            self._end(grant)
        while self._grants and self._moving is None:
            grant = self._grants.popleft()
            region = grant.send.region
            if not grant.size or region is None:
                self._end(grant)
                continue
            self._moving = grant
            packet = self._options.packet_of(grant.size)
            self._link.send_long(grant.send.dest, region.pinned, region.address + region.done, grant.size, packet)
            region.done += grant.size

    def fail_all(self, kind: ErrorKind, text: str) -> None:
        for send in self.pending():
            fail(send, kind, text)
        self._unwritten.clear()
        self._answered.clear()
        self._grants.clear()
        self._moving = None

    def _make(self, send: Send) -> tuple[Head, bytes] | None:
        """The packet of a send whose turn has come; None if its memory cannot be read."""
        self._unwritten.remove(send)
        size = send.body.size
        try:
            if size > self._options.short:
                send.region = Region(self._pins, self._meter, send.body, size, writable=False)
                kind, data = Type.ASK, b""
            else:
                kind, data = Type.SYNC if send.synchronous else Type.EAGER, send.body.read()
        except BusError as error:
            fail(send, ErrorKind.BUS_ERROR, str(error))
            return None
        if kind is Type.EAGER:
            send.done = True
        else:
            self._handle = self._handle % 0xFFFF_FFFF + 1
            send.handle = self._handle
            self._answered[send.handle] = send
        sequence = self._sequences[send.dest]
        self._sequences[send.dest] = sequence + 1 & 0xFFFF
        return Head(kind, 0, 0, send.tag, size, send.context, sequence, send.handle), data

    def _end(self, grant: Grant) -> None:
        """The bytes of a grant have been taken."""
        if not grant.last:
            return
        send = grant.send
        assert send.region is not None
        send.region.release()
        send.region = None
        del self._answered[send.handle]
        send.done = True
