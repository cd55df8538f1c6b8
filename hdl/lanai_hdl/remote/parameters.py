"""The parameters of the adapter, as its own parts know them. `Remote` in `config` adds how it is
built."""

from dataclasses import dataclass

from ..block_config import BlockConfig, HostWindow
from ..errors import UserError
from .csr import REMOTE
from .packets import MOST_PEERS
from .tables import MOST_PAGES, PROCESS_BYTES, WINDOW_HOST

# Parts whose block RAMs may read anything from a word that is written in the same slot, so that no
# logic need see to that. The host may write a command, an exposure or a page while it is used: it
# spoils its own access, and what comes of that is checked as any other. Of a packet that arrives,
# a word that is not there yet is read again.
ANY_ON_COLLISION = ("host", "lookup", "arrivals")


@dataclass(frozen=True)
class RemoteParameters(BlockConfig):
    """Parameters of the remote-memory adapter.

    Attributes:
        processes: of this host that have a page of the adapter's window, a power of two.
        peers: NICs that it exchanges packets with, its own included; they are numbered from 0.
        pages: entries of a process's page table, a power of two.
        payload: most bytes of data in a packet, a power of two.
        answers: replies that may wait to be sent.
    """

    name = "remote"
    declares = REMOTE
    before_synthesis = tuple(
        f"setparam -set COLLISION_X_MASK 1'1 top.top.nic.remote.{part}/t:$memrd_v2" for part in ANY_ON_COLLISION
    )

    processes: int = 8
    peers: int = 16
    pages: int = 256
    payload: int = 1024
    answers: int = 16

    def __post_init__(self):
        self._power_of_two("processes", 1, 8)
        self._within("peers", 1, MOST_PEERS)
        self._power_of_two("pages", 2, MOST_PAGES)
        self._power_of_two("payload", 16, 2048)
        self._within("answers", 1, 64)

    @property
    def host_window(self) -> HostWindow:
        return HostWindow(WINDOW_HOST, self.processes * PROCESS_BYTES)

    def _within(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise UserError(f"{name}={value!r} must be a whole number from {low} to {high}")

    def _power_of_two(self, name: str, low: int, high: int) -> None:
        self._within(name, low, high)
        value = getattr(self, name)
        if value & (value - 1):
            raise UserError(f"{name}={value!r} must be a power of two")
