"""What a rank's process must know of the adapters: its own, and where the other ranks are."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.tables import EXPOSURES, PROCESS_BYTES, command_at

from .token import Token


class Home(NamedTuple):
    """Where a rank is: its NIC, the process's number there, and the key of its first exposure."""

    node: int
    process: int
    key: int


@dataclass(frozen=True)
class Attachment:
    """Attributes:
    homes: of all ranks.
    adapter: parameters of this rank's adapter.
    options: of the messaging system.
    """

    rank: int
    homes: tuple[Home, ...]
    adapter: Remote
    options: Mapping[str, Any]

    @property
    def home(self) -> Home:
        return self.homes[self.rank]

    @property
    def reach(self) -> range:
        first = command_at(self.home.process, 0)
        return range(first, first + PROCESS_BYTES)

    @property
    def doorbell_bits(self) -> int:
        return 0

    def token(self, rank: int, size: int) -> Token:
        """Names a rank's first exposure, which begins at a page and has `size` bytes."""
        home = self.homes[rank]
        return Token(home.node, home.process * EXPOSURES, home.key, 0, size)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        homes = tuple(Home(*home) for home in values["homes"])
        return cls(values["rank"], homes, Remote(**values["adapter"]), values["options"])
