"""The prices of a kernel that does the work of an adapter, as MPI/MBCF's does: each command is a system call, and each
packet interrupts the processor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from lanai_hdl import ranges

SECOND = 10**12  # picoseconds
COSTS = dict.fromkeys(
    ("command_byte", "arrival", "arrival_byte", "wake", "wake_queued", "dequeue", "take"), (0, SECOND)
)


@dataclass(frozen=True)
class KernelCosts:
    """Prices in picoseconds for each unit of work. All are 0 where hardware does the work.

    Attributes:
        command_byte: one byte of a command's first packet, which the kernel copies to the interface.
        arrival: one packet, of data or an answer, that interrupts the processor.
        arrival_byte: one byte of its data, which the kernel copies to where it belongs.
        wake: going on after a wait for a packet.
        wake_queued: the same for a message in a FIFO, beyond `wake`.
        dequeue: a record taken out of a FIFO of the kernel's.
        take: beyond that, a message's bytes.
    """

    RANGES: ClassVar[Mapping[str, ranges.Range]] = COSTS

    command_byte: int = 0
    arrival: int = 0
    arrival_byte: int = 0
    wake: int = 0
    wake_queued: int = 0
    dequeue: int = 0
    take: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, self.RANGES)
