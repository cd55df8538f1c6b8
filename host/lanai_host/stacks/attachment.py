"""The facts of a booted NIC that a rank's process needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol


class Attachment(Protocol):
    """The facts of a booted NIC that a rank's process needs. They are plain numbers, so that it travels as JSON
    (`plain.restored`).
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def rank(self) -> int: ...

    @property
    def reach(self) -> Sequence[range]:
        """Ranges of PIO offsets that the rank may read and write."""

    @property
    def doorbell_bits(self) -> int:
        """Bits of DOORBELL that the rank may set."""


@dataclass(frozen=True)
class PlacedRequest:
    """A request that a rank wrote to its NIC, as a trace shows it."""

    local_rank: int  # the rank's number on its NIC
    slot: int
    op: int
    operation: int
    peer: int
    tag: int
    context: int
    length: int


class Mark(NamedTuple):
    """A word that a boot leaves on the NIC, and that a reset clears."""

    register: str
    word: int


@dataclass(frozen=True)
class FirmwareAttachment:
    """The facts of a NIC that a rank of any system with firmware needs. A system adds its own, and says what the rank
    may reach.

    Attributes:
        routes: to the NICs of the job, in any order.
        epoch: what EPOCH reads as long as the NIC is the one that was booted.
    """

    rank: int
    routes: tuple[int, ...] = field(default=(), kw_only=True)
    epoch: int = field(default=0, kw_only=True)

    @property
    def doorbell_bits(self) -> int:
        """The rank's bit of DOORBELL, which the firmware clears."""
        return 1

    @property
    def mark(self) -> Mark:
        """A register, and the word in it as long as the NIC is the one that was booted."""
        return Mark("SCRATCH1", self.epoch)

    @property
    def longest_turn(self) -> int:
        """Picoseconds that the firmware may spend on a turn beyond its instructions."""
        return 0

    def request_in(self, offset: int, data: bytes) -> PlacedRequest | None:
        """The request that a write of the rank to PIO `offset` completes; None if it completes none."""
        return None


def place_ended(end: int, size: int, count: int) -> int | None:
    """Return the place of a ring that a write ends, whose last byte is before byte `end` of the ring; None if it ends
    within one, or elsewhere."""
    place, rest = divmod(end, size)
    return None if rest or not 0 < place <= count else place - 1
