"""The segment of each rank (SC-01): what its peers write. All ranks have the same layout, so an offset
there is one here.

Of each peer, in this order:

state       two words: whether the peer is there, and how many of this rank's packets it has taken
ring        control packets
slots       messages of the eager protocol
chunks      three buffers for messages of the rendezvous protocol

Behind them is a FIFO for remote interrupts, of all peers.
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from ...bus.base import PAGE_SIZE
from .options import SciOptions
from .packets import PACKET, SEQUENCE_AT, WORD

CHUNKS = 3  # one is filled, one is emptied, and the news that the third is empty is under way
SLOT_ROOM, CHUNK_ROOM, RING_ROOM = "credit in use", "chunk buffers in use", "ring in use"  # as traces show them
LINE = 128  # slots and chunks begin at multiples of it, so that bursts of either host's bus are not cut


class State(IntEnum):
    """The state of a peer."""

    ABSENT = 0  # it may not have begun yet
    PRESENT = 1
    LEFT = 2  # it has finished


@dataclass(frozen=True)
class Layout:
    """`block`: bytes of a stream buffer. A control packet ends with one, so that the buffer leaves as soon as the
    packet is stored.
    """

    ranks: int
    options: SciOptions
    block: int = PACKET

    @cached_property
    def part(self) -> int:
        """Bytes of each peer's part."""
        options = self.options
        return self.control + options.eager_slots * in_lines(options.eager) + CHUNKS * in_lines(options.chunk)

    @cached_property
    def control(self) -> int:
        """Bytes of a peer's part before its slots."""
        return in_lines((1 + self.options.ring) * self.pitch)

    @cached_property
    def pitch(self) -> int:
        """Bytes from a control packet to the next one."""
        return max(PACKET, self.block) if self.options.stores else PACKET

    @cached_property
    def signals(self) -> int:
        """Return where the control words of the FIFO for remote interrupts are, at the begin of a page. The next page
        is its ring.
        """
        return -(-self.ranks * self.part // PAGE_SIZE) * PAGE_SIZE

    @cached_property
    def size(self) -> int:
        return self.signals + 2 * PAGE_SIZE

    def state(self, peer: int) -> int:
        return peer * self.part

    def taken(self, peer: int) -> int:
        return self.state(peer) + WORD.size

    def packet(self, peer: int, number: int) -> int:
        return peer * self.part + (2 + number % self.options.ring) * self.pitch - PACKET

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
