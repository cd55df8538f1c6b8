"""The host's end of `echo`: messages in packets, one outstanding, behind the interface that the
`ideal` device asks for."""

import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from lanai_hdl.machine import host_offset

from ...body import Body
from ...bus.base import Bus, Wait
from ..attachment import FirmwareAttachment, Mark
from . import layout

_HEAD = struct.Struct(">4I")
_COUNTERS = struct.Struct(">3I")


@dataclass(frozen=True)
class Attachment(FirmwareAttachment):
    """The routes of a rank's NIC, to and from each rank."""

    back: tuple[int, ...]

    @property
    def reach(self) -> Sequence[range]:
        """SCRATCH1 to SCRATCH4."""
        return [range(host_offset("SCRATCH1"), host_offset("SCRATCH4") + 4)]

    @property
    def mark(self) -> Mark:
        return Mark("SCRATCH0", layout.READY)


class PacketTransport:
    """Messages of any length to any rank, in order. `post` never blocks: what cannot leave yet is
    queued here."""

    def __init__(self, bus: Bus, attachment: Attachment) -> None:
        self._bus = bus
        self._attachment = attachment
        self._memory = bus.allocate(layout.MEMORY)
        self._queue: deque[bytes] = deque()  # packets
        self._asked = 0
        self._acknowledged = 0
        self._received = 0
        self._parts: dict[int, list[bytes]] = {}  # of messages that have not arrived whole, by source
        self._begin()

    @property
    def now(self) -> int:
        return self._bus.now

    def elapse(self, picoseconds: int) -> None:
        self._bus.elapse(picoseconds)

    def post(self, dest: int, head: bytes, body: Body) -> None:
        message = head + body.read()
        here = self._attachment
        for start in range(0, len(message), layout.BODY):
            part = message[start : start + layout.BODY]
            last = layout.LAST if start + layout.BODY >= len(message) else 0
            self._queue.append(_HEAD.pack(here.routes[dest], here.back[dest], here.rank, len(part) | last) + part)
        self._send_next()

    def collect(self, why: Wait | None) -> list[tuple[int, bytes]]:
        return self._collect(why)

    def close(self) -> None:
        self._empty()

    def _begin(self) -> None:
        """Tell the NIC where to put packets. One may be there already."""
        self._bus.write(host_offset("SCRATCH1"), self._memory.bus_address)
        self._bus.write(host_offset("DOORBELL"), 1)

    def _send_next(self) -> None:
        """Give the NIC the next packet if the last one was acknowledged."""
        if not self._queue or self._asked != self._acknowledged:
            return
        packet = self._queue.popleft()
        self._memory.view[layout.OUTGOING : layout.OUTGOING + len(packet)] = packet
        self._asked += 1
        self._bus.write(host_offset("SCRATCH3"), len(packet))
        self._bus.write(host_offset("SCRATCH2"), self._asked)
        self._bus.write(host_offset("DOORBELL"), 1)

    def _collect(self, why: Wait | None) -> list[tuple[int, bytes]]:
        self._bus.catch_up()
        while True:
            seen = self._counters()[2]
            messages = self._look()
            if messages or why is None:
                return messages
            self._bus.wait_change(self._memory, layout.COUNTERS + 8, seen, why)

    def _look(self) -> list[tuple[int, bytes]]:
        """Take the messages that have arrived whole. Send the next packet if it can leave."""
        self._acknowledged, received, _ = self._counters()
        messages = []
        while self._received != received:
            self._take(messages)
            self._received = self._received + 1 & 0xFFFF_FFFF
            self._bus.write(host_offset("SCRATCH4"), self._received)
            self._bus.write(host_offset("DOORBELL"), 1)
        self._send_next()
        return messages

    def _take(self, messages: list[tuple[int, bytes]]) -> None:
        start = layout.INCOMING + self._received % layout.RING * layout.PAGE
        packet = self._memory.view[start : start + layout.PAGE]
        _, _, source, length = _HEAD.unpack_from(packet)
        parts = self._parts.setdefault(source, [])
        parts.append(bytes(packet[layout.HEAD : layout.HEAD + (length & ~layout.LAST)]))
        if length & layout.LAST:
            messages.append((source, b"".join(self._parts.pop(source))))

    def _empty(self) -> None:
        while self._queue or self._asked != self._acknowledged:
            seen = self._counters()[2]
            self._look()
            if self._queue or self._asked != self._acknowledged:
                why = Wait("sending what is left before the end")
                self._bus.wait_change(self._memory, layout.COUNTERS + 8, seen, why)

    def _counters(self) -> Sequence[int]:
        return _COUNTERS.unpack_from(self._memory.view, layout.COUNTERS)
