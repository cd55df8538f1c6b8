"""The segment of each rank (SC-01): what its peers write. All ranks have the same layout, so an offset
there is one here.

Of each peer, in this order:

state       two words: whether the peer is there, and how many of this rank's packets it has taken
ring        control packets
slots       messages of the eager protocol
chunks      three buffers for messages of the rendezvous protocol
"""

from dataclasses import dataclass
from enum import IntEnum

from .options import SciOptions
from .packets import PACKET, SEQUENCE_AT, WORD

CHUNKS = 3  # one is filled, one is emptied, and the news that the third is empty is under way
LINE = 128  # slots and chunks begin at multiples of it, so that bursts of either host's bus are not cut


class State(IntEnum):
    """The state of a peer."""

    ABSENT = 0  # it may not have begun yet
    PRESENT = 1
    LEFT = 2  # it has finished


@dataclass(frozen=True)
class Layout:
    ranks: int
    options: SciOptions

    @property
    def part(self) -> int:
        """Bytes of each peer's part."""
        options = self.options
        return self.control + options.eager_slots * in_lines(options.eager) + CHUNKS * in_lines(options.chunk)

    @property
    def control(self) -> int:
        """Bytes of a peer's part before its slots."""
        return in_lines((1 + self.options.ring) * PACKET)

    @property
    def size(self) -> int:
        return self.ranks * self.part

    def state(self, peer: int) -> int:
        return peer * self.part

    def taken(self, peer: int) -> int:
        return self.state(peer) + WORD.size

    def packet(self, peer: int, number: int) -> int:
        return peer * self.part + (1 + number % self.options.ring) * PACKET

    def sequence(self, peer: int, number: int) -> int:
        """The last word of a packet."""
        return self.packet(peer, number) + SEQUENCE_AT

    def slot(self, peer: int, number: int) -> int:
        return peer * self.part + self.control + number * in_lines(self.options.eager)

    def chunk(self, peer: int, number: int) -> int:
        return self.slot(peer, self.options.eager_slots) + number * in_lines(self.options.chunk)


def in_lines(size: int) -> int:
    """The size, with what is missing of its last line."""
    return -(-size // LINE) * LINE
