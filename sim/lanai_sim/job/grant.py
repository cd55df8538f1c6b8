"""The PIO accesses that one rank may make to its NIC: to its own request slots and its own doorbell bit, as the
driver's attachment says. All may read what the NIC counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from lanai_hdl.machine import COUNTER_NAMES, host_offset
from lanai_host.stacks.base import Attachment

DOORBELL = host_offset("DOORBELL")
COUNTERS = frozenset(host_offset(name) for name in COUNTER_NAMES)


class Forbidden(Exception):
    """A rank reached for what is not its own. It ends the job, as a bus error ends a process:
    posted writes have no answer."""


@dataclass(frozen=True)
class Grant:
    """The part of one NIC that a rank may reach.

    Members:
        reach: ranges of PIO offsets that it may read and write.
        bells: bits of DOORBELL that it may set.
    """

    rank: int
    reach: Sequence[range] = ()
    bells: int = 0

    @classmethod
    def of(cls, attachment: Attachment) -> Self:
        return cls(attachment.rank, attachment.reach, attachment.doorbell_bits)

    def check_write(self, offset: int, data: bytes) -> None:
        """Raises Forbidden unless the rank may write `data` at `offset`."""
        if self._holds(offset, len(data)):
            return
        if offset == DOORBELL and len(data) == 4:
            value = int.from_bytes(data, "big")
            if not value & ~self.bells:
                return
            raise Forbidden(
                f"rank {self.rank} wrote {value:#x} to DOORBELL at PIO offset {offset:#x}; its own bits are "
                f"{self.bells:#x}"
            )
        raise Forbidden(self._text("wrote", offset, len(data)))

    def check_read(self, offset: int, size: int) -> None:
        """Raises Forbidden unless the rank may read `size` bytes at `offset`."""
        counter = offset in COUNTERS and size == 4
        if not counter and not self._holds(offset, size):
            raise Forbidden(self._text("read", offset, size))

    def _holds(self, offset: int, size: int) -> bool:
        return any(own.start <= offset and offset + size <= own.stop for own in self.reach)

    def _text(self, verb: str, offset: int, size: int) -> str:
        own = ", ".join(f"{own.start:#x} to {own.stop - 1:#x}" for own in self.reach) or "none"
        return f"rank {self.rank} {verb} {size} bytes at PIO offset {offset:#x} of its NIC; its own offsets are {own}"
