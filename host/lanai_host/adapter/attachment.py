"""The facts of the adapters that a rank's process needs: its own, and where the other ranks are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.tables import APERTURE_PAGES, EXPOSURES, PROCESS_BYTES, aperture_at, command_at

from ..bus.base import PAGE_SIZE
from .token import Token


class Place(NamedTuple):
    """The place of a rank: its NIC, the process's number there, and the key of its first exposure."""

    node: int
    process: int
    key: int


@dataclass(frozen=True)
class Attachment:
    """Attributes:
    places: of all ranks.
    adapter: parameters of this rank's adapter.
    options: of the messaging system.
    """

    rank: int
    places: tuple[Place, ...]
    adapter: Remote
    options: Mapping[str, Any]

    @property
    def place(self) -> Place:
        return self.places[self.rank]

    @property
    def reach(self) -> Sequence[range]:
        """The process's page of the adapter's window, and its part of the aperture."""
        first, mapped = command_at(self.place.process, 0), aperture_at(self.place.process, 0)
        pages = APERTURE_PAGES * PAGE_SIZE if self.adapter.streams else 0
        return [range(at, at + size) for at, size in ((first, PROCESS_BYTES), (mapped, pages)) if size]

    @property
    def doorbell_bits(self) -> int:
        return 0

    def request_in(self, offset: int, data: bytes) -> None:
        """Writes to the adapter are commands, and no requests of messages."""

    def token(self, rank: int, size: int) -> Token:
        """Names a rank's first exposure, which begins at a page and has `size` bytes."""
        place = self.places[rank]
        return Token(place.node, place.process * EXPOSURES, place.key, 0, size)
