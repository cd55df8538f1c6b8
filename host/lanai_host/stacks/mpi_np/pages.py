"""The page table of an endpoint: entries that describe a message's pieces to the NIC
(NP-44..NP-48)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import ANY, PageEntry

from ..pinning import Piece

ENTRY = int(sizeof(PageEntry))
PER_ENTRY = 4
FREE = pack(PageEntry, {"peer": int(ANY)})  # no rank may ask for it


@dataclass
class PageTable:
    """The endpoint's page table: entries strung together for each message. Entry 0 means "none" and
    is never used."""

    view: memoryview
    entries: int
    pages_per_entry: int = PER_ENTRY
    free: list[int] = field(init=False)
    written: int = 0

    def __post_init__(self) -> None:
        self.free = list(range(self.entries - 1, 0, -1))

    def needed(self, pieces: int) -> int:
        return -(-pieces // self.pages_per_entry)

    def write(self, pieces: Sequence[Piece], total: int, operation: int, peer: int = int(ANY)) -> list[int]:
        """String entries that describe `pieces`; their indices. A message without bytes has one
        entry too. Rank `peer` may ask for the bytes from the first entry on: without it, no rank may."""
        count = max(1, self.needed(len(pieces)))
        indices = [self.free.pop() for _ in range(count)]
        for i, index in enumerate(indices):
            part = pieces[i * self.pages_per_entry : (i + 1) * self.pages_per_entry]
            values = {
                "next": indices[i + 1] if i + 1 < count else 0,
                "total": total,
                "operation": operation,
                "peer": peer if i == 0 else int(ANY),
            }
            for j, (address, length) in enumerate(part):
                values[f"pieces.{j}.address"] = address
                values[f"pieces.{j}.length"] = length
            self.view[index * ENTRY : (index + 1) * ENTRY] = pack(PageEntry, values)
        self.written += count
        return indices

    def release(self, indices: Sequence[int]) -> None:
        """Give entries back and clear them, so that a later request for such a message is
        refused."""
        for index in indices:
            self.view[index * ENTRY : (index + 1) * ENTRY] = FREE
        self.free += indices
