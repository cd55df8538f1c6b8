"""The facts of its node's daemon that a rank needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lanai_firmware.lang import constants_set, offset_of, sizeof
from lanai_firmware.programs.ccu.layout import READY, SEND_ENTRIES, Border, Client, Packet, sizes
from lanai_firmware.programs.ccu.state import Shared
from lanai_hdl.machine import SRAM_HOST

from ..health import Mark


class Place(NamedTuple):
    """The place of a rank: the number of its node, and its own on that node."""

    node: int
    client: int


@dataclass(frozen=True)
class Attachment:
    """`places`: of all ranks. `shared`: where in SRAM the memory begins that ranks share with the
    daemon. `memory`: the bus address at which the rank's first allocation must lie. `packet`,
    `datagram`, `stay`: as in `CcuOptions`. `multicasts`: the fabric broadcasts, and the options let it.
    `routes`: to each node. `longest_turn`: picoseconds that a turn of the daemon may take beyond its instructions."""

    rank: int
    places: tuple[Place, ...]
    shared: int
    memory: int
    packet: int
    datagram: int
    multicasts: bool
    stay: int
    routes: tuple[int, ...] = ()
    longest_turn: int = 0

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
    def doorbell_bits(self) -> int:
        return 1

    @property
    def mark(self) -> Mark:
        return Mark("SCRATCH0", READY)

    def request_in(self, offset: int, data: bytes) -> None:
        """Return None: no write alone is a request, as packets of a message are many writes."""
