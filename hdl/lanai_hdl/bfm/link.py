"""The other end of a link."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..link.crc import crc32
from ..link.flit import Kind
from .pins import Pins

FlitValue = tuple[Kind, int]


@dataclass
class Packet:
    """The content between a HEAD and its TAIL: `route`, `words`, `sound` (the CRC was right), and in
    `checks` the CHECK flits that matched."""

    route: int
    words: list[int] = field(default_factory=list)
    sound: bool = False
    checks: int = 0


class LinkSource:
    """Sends flits over the pins of a `LinkPort`, whose sender it is; obeys `stop`.

    `idle` is the chance of an IDLE slot before a flit; `late` is how many more flits it sends after
    it sees `stop`, as a link that much longer would.
    """

    def __init__(self, pins: Pins, *, idle: float = 0.0, late: int = 0, seed: int = 0) -> None:
        self.pins = pins
        self.idle = idle
        self.late = late
        self.chance = random.Random(seed)

    async def send(self, words: Sequence[int], route: int = 0, *, spoil: bool = False) -> None:
        """Send a packet; with `spoil` its CRC is wrong."""
        await self.flits(self.packet(words, route, spoil=spoil))

    @staticmethod
    def packet(words: Sequence[int], route: int = 0, *, spoil: bool = False) -> list[FlitValue]:
        body = [(Kind.DATA, word) for word in words]
        return [(Kind.HEAD, route), *body, (Kind.TAIL, crc32(words) ^ (0xFFFFFFFF if spoil else 0))]

    async def flits(self, flits: Iterable[FlitValue]) -> None:
        """Send flits as they are: for packets that no sender would send."""
        stopped_for = 0
        for kind, data in flits:
            while self.chance.random() < self.idle or stopped_for > self.late:
                stopped_for = await self._slot(Kind.IDLE, 0, stopped_for)
            stopped_for = await self._slot(kind, data, stopped_for)
        self.pins.set(kind=Kind.IDLE)

    async def down(self, slots: int) -> None:
        """Take the carrier away for some slots."""
        for _ in range(slots):
            await self._slot(Kind.DOWN, 0, 0)
        self.pins.set(kind=Kind.IDLE)

    async def _slot(self, kind: Kind, data: int, stopped_for: int) -> int:
        self.pins.set(kind=kind, data=data)
        (stop,) = await self.pins.step("stop")
        return stopped_for + 1 if stop else 0


class LinkSink:
    """Takes packets from the pins of a `LinkPort`, whose receiver it is. `packets` are those that
    ended, `flits` all that came, with slots.

    `stops` is the chance, in each slot, that `stop` is raised or lowered; while `held` is set it
    stands whatever chance says.
    """

    def __init__(self, pins: Pins, *, stops: float = 0.0, seed: int = 0) -> None:
        self.pins = pins
        self.stops = stops
        self.held = False
        self.chance = random.Random(seed)
        self.packets: list[Packet] = []
        self.flits: list[tuple[int, Kind, int]] = []
        self.slot = 0

    async def serve(self) -> None:
        """Serves for ever."""
        packet: Packet | None = None
        stop = 0
        while True:
            if self.chance.random() < self.stops:
                stop ^= 1
            self.pins.set(stop=int(stop or self.held))
            kind_value, data = await self.pins.step("kind", "data")
            self.slot += 1
            kind = Kind(kind_value)
            if kind in (Kind.IDLE, Kind.DOWN):
                continue
            self.flits.append((self.slot, kind, data))
            if kind is Kind.HEAD:
                packet = Packet(data)
            elif packet is None:
                raise AssertionError(f"{kind} outside a packet in slot {self.slot}")
            elif kind is Kind.DATA:
                packet.words.append(data)
            elif kind is Kind.CHECK:
                packet.checks += data == crc32(packet.words)
            else:
                packet.sound = data == crc32(packet.words)
                self.packets.append(packet)
                packet = None
