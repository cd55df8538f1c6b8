"""The parameters of the adapter, as its own parts know them. `Remote` in `config` adds how it is
built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..block_config import BlockConfig, HostWindow
from ..errors import UserError
from .csr import REMOTE
from .packets import FIRST_BYTES, MOST_PEERS
from .tables import APERTURE_AT, MOST_PAGES, PROCESS_BYTES, WINDOW_HOST

if TYPE_CHECKING:
    from ..config import NicConfig


@dataclass(frozen=True)
class RemoteParameters(BlockConfig):
    """Parameters of the remote-memory adapter.

    Attributes:
        processes: of this host that have a page of the adapter's window, a power of two.
        peers: NICs that it exchanges packets with, its own included; they are numbered from 0.
        pages: entries of a process's page table, a power of two.
        payload: most bytes of data in a packet, a power of two.
        answers: replies that may wait to be sent.
        streams: stream buffers of the aperture, a power of two; 0: there is no aperture.
        stream_bytes: of each of them, a power of two.
        stream_slots: time without a store after which what is in them is sent.
    """

    name = "remote"
    declares = REMOTE
    rests = True
    takes_numbers = True  # it has none of them
    first_bytes = FIRST_BYTES

    processes: int = 8
    peers: int = 16
    pages: int = 256
    payload: int = 1024
    answers: int = 16
    streams: int = 0
    stream_bytes: int = 64
    stream_slots: int = 32

    def __post_init__(self):
        self._power_of_two("processes", 1, 8)
        self._within("peers", 1, MOST_PEERS)
        self._power_of_two("pages", 2, MOST_PAGES)
        self._power_of_two("payload", 16, 2048)
        self._within("answers", 1, 64)
        if self.streams != 0:
            self._power_of_two("streams", 2, 8)
        self._power_of_two("stream_bytes", 16, 128)
        self._within("stream_slots", 2, 1 << 16)
        if self.streams and self.stream_bytes > self.payload:
            raise UserError(f"stream_bytes={self.stream_bytes} must be at most payload={self.payload}")

    def check(self, config: NicConfig) -> None:
        if self.payload > config.max_burst:
            raise UserError(
                f"payload={self.payload} of the remote-memory adapter must be at most max_burst={config.max_burst}"
            )

    @property
    def host_window(self) -> HostWindow:
        if self.streams:
            return HostWindow(WINDOW_HOST, 2 * APERTURE_AT, reads_wait=True)
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
