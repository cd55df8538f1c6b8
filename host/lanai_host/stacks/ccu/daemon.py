"""The daemon as a rank sees it: a send queue, a ring of packets that arrived, a trigger (CC-02,
CC-03).

Packets are bytes for any set of ranks. This layer knows no messages, so other systems could use it
(CC-06).
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lanai_firmware.lang import constants_set, offset_of, sizeof
from lanai_firmware.programs.ccu.layout import (
    BEGUN,
    CLIENT_BYTES,
    CLOSED,
    GROUP,
    HEAD_BYTES,
    PLACE,
    READY,
    RING,
    RING_AT,
    SEND_ENTRIES,
    SLOTS,
    Border,
    Client,
    Count,
    Packet,
    SendSlot,
    Status,
    nodes_of,
    sizes,
)
from lanai_firmware.programs.ccu.state import Shared
from lanai_hdl.machine import SRAM_HOST, host_offset

from ...bus.base import Bus, Watched
from ...config import HostCost
from ...errors import UserError
from ...host_model.meter import Meter
from ..attachment import FirmwareAttachment, Mark

# The facts of its node's daemon that a rank needs.


class Place(NamedTuple):
    """The place of a rank: the number of its node, and its own on that node."""

    node: int
    client: int


@dataclass(frozen=True)
class Attachment(FirmwareAttachment):
    """`places`: of all ranks. `shared`: where in SRAM the memory begins that ranks share with the
    daemon. `memory`: the bus address at which the rank's first allocation must lie. `packet`,
    `datagram`, `stay`: as in `CcuOptions`. `multicasts`: the fabric broadcasts, and the options let it.
    `turn`: picoseconds that a turn of the daemon may take beyond its instructions."""

    places: tuple[Place, ...]
    shared: int
    memory: int
    packet: int
    datagram: int
    multicasts: bool
    stay: bool
    turn: int = 0

    @property
    def sizes(self) -> Mapping[str, int]:
        """The constants that the node's daemon was built with."""
        return sizes(max(place.node for place in self.places) + 1)

    @property
    def border(self) -> int:
        """PIO offset of this rank's part."""
        with constants_set(self.sizes):
            return SRAM_HOST + self.shared + self.places[self.rank].client * int(sizeof(Client))

    @property
    def counts(self) -> int:
        """PIO offset of the daemon's counters."""
        with constants_set(self.sizes):
            return SRAM_HOST + self.shared + int(offset_of(Border, "counts"))

    @property
    def pool(self) -> int:
        """PIO offset of the send pool."""
        with constants_set(self.sizes):
            return SRAM_HOST + self.shared + int(offset_of(Shared, "packets"))

    @property
    def reach(self) -> Sequence[range]:
        """All that the ranks of a node share, as in the paper: one may spoil another's packets."""
        return (range(SRAM_HOST + self.shared, self.pool + int(SEND_ENTRIES) * int(sizeof(Packet))),)

    @property
    def mark(self) -> Mark:
        return Mark("SCRATCH0", READY)

    @property
    def longest_turn(self) -> int:
        return self.turn


DOORBELL = host_offset("DOORBELL")
HEAD = struct.Struct(">II")  # tag, length
WORD = struct.Struct(">I")
LOOK = 1_000_000  # picoseconds between two looks whether the daemon has let go of this rank's memory
REPORT = int(RING) // 4  # packets read before the daemon is told

assert HEAD.size == int(HEAD_BYTES)


class Arrival(NamedTuple):
    """A packet. `content` is good until the next one is taken."""

    tag: int
    content: memoryview


class Daemon:
    """It has answered once there are `changes`."""

    def __init__(self, bus: Bus, attachment: Attachment, meter: Meter) -> None:
        self._bus = bus
        self._attachment = attachment
        self._meter = meter
        self.memory = bus.allocate(int(CLIENT_BYTES))
        if self.memory.bus_address != attachment.memory:
            raise UserError(
                f"the memory for packets came to bus address {self.memory.bus_address:#x}, but the daemon was told "
                f"{attachment.memory:#x}: it must be the process's first allocation"
            )
        self._view = self.memory.view
        with constants_set(attachment.sizes):
            self._words = {
                name: int(offset_of(Status, name)) for name in ("entries", "sent", "arrived", "silent", "changes")
            }
            self._client = {name: int(offset_of(Client, name)) for name in ("stage", "read", "released")}
            self._slot = int(sizeof(SendSlot))
        self._packet, self._tag = int(sizeof(Packet)), int(offset_of(Packet, "tag"))
        self._border, self._pool = attachment.border, attachment.pool
        self._group = attachment.sizes.get("GROUP", int(GROUP))
        self._groups = attachment.sizes.get("GROUPS", 1)
        self._written = 0  # packets given to the daemon
        self._read = 0
        self._told = 0  # of those read

    def open(self) -> None:
        """Tell the daemon that this rank's memory is there. Its answer says which entries the send queue has."""
        self._write("stage", int(BEGUN))
        self.trigger()

    def close(self, lost: Callable[[], bool]) -> None:
        """Take this rank's memory away from the daemon. What it has still to send it sends. `lost`: is the NIC?"""
        self._write("stage", int(CLOSED))
        self.trigger()
        released = self._border + self._client["released"]
        while not self._bus.read(released) and not lost():
            self._bus.elapse(LOOK)

    @property
    def has_room(self) -> bool:
        """The send queue takes a packet."""
        return self.untaken < int(SLOTS)

    @property
    def untaken(self) -> int:
        """Packets that the daemon has not taken from the send queue."""
        return (self._written - self._status("sent")) & 0xFFFF_FFFF

    def send(self, tag: int, content: bytes, ranks: tuple[int, ...]) -> None:
        """Write a packet to the send queue, which must have room. `trigger` sends it."""
        slot = self._written % int(SLOTS)
        entry = self._status("entries", slot)
        place = self._pool + entry * self._packet + self._tag
        self._meter.spend(HostCost.POST)
        self._bus.write_block(place, HEAD.pack(tag, len(content)) + content)
        self._written += 1
        end = self._targets(ranks) + WORD.pack(self._written & 0xFFFF_FFFF)
        self._bus.write_block(self._border + slot * self._slot, end)

    def trigger(self) -> None:
        """Wake the daemon."""
        self._bus.write(DOORBELL, 1)

    @property
    def read(self) -> int:
        """Packets that this rank has read, modulo 2**32."""
        return self._read

    def arrivals(self, enough: Callable[[], bool]) -> Iterator[Arrival]:
        """Packets that have arrived, the oldest first, until there is `enough`. Each is read once the next is asked
        for.

        A ring that is full to the daemon is its request to empty it: then all packets come (CC-18).
        """
        full = (self._status("arrived") - self._told) & 0xFFFF_FFFF >= int(RING)
        while self._read != self._status("arrived") and (full or not enough()):
            place = int(RING_AT) + self._read % int(RING) * int(PLACE)
            tag, length = HEAD.unpack_from(self._view, place)
            yield Arrival(tag, self._view[place + HEAD.size : place + HEAD.size + length])
            self._read = self._read + 1 & 0xFFFF_FFFF

    def tell_read(self) -> None:
        """Let the daemon use the places of packets that were read, once there are some."""
        if (self._read - self._told) & 0xFFFF_FFFF >= REPORT:
            self._told = self._read
            self._write("read", self._read)
            self.trigger()

    @property
    def is_settled(self) -> bool:
        """The daemon knows what it must of the packets that were read."""
        return (self._read - self._told) & 0xFFFF_FFFF < REPORT

    def decisive(self) -> list[Watched]:
        """Return the words that tell of packets that have arrived, and of nodes that are silent, as they are while
        there are none."""
        return [
            Watched(self.memory, self._words["arrived"], WORD.pack(self._read)),
            Watched(self.memory, self._words["silent"], bytes(WORD.size * self._groups)),
        ]

    @property
    def silent(self) -> int:
        """Nodes that do not answer, a bit for each."""
        return nodes_of([self._status("silent", group) for group in range(self._groups)])

    @property
    def changes(self) -> int:
        """Differs whenever anything of the status changed."""
        return self._status("changes")

    @property
    def changes_at(self) -> int:
        """Return where it is in `memory`."""
        return self._words["changes"]

    def count(self, which: Count) -> int:
        """Return one of the counts of the node's daemon."""
        return self._bus.read(self._attachment.counts + WORD.size * which)

    def _status(self, name: str, index: int = 0) -> int:
        found: int = WORD.unpack_from(self._view, self._words[name] + WORD.size * index)[0]
        return found

    def _targets(self, ranks: Iterable[int]) -> bytes:
        """Clients by node, and the nodes, of some ranks, which must be in one group."""
        clients, nodes, groups = bytearray(self._group), 0, set()
        for rank in ranks:
            node, client = self._attachment.places[rank]
            group, place = divmod(node, self._group)
            clients[place] |= 1 << client
            nodes |= 1 << place
            groups.add(group)
        (group,) = groups
        return bytes(clients) + WORD.pack(nodes) + (WORD.pack(group) if self._groups > 1 else b"")

    def _write(self, name: str, value: int) -> None:
        self._bus.write(self._border + self._client[name], value)
