"""The parameters of the adapter, as its own parts know them. `Remote` in `config` adds how it is
built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..block_config import BlockConfig, HostWindow
from ..csr.declare import RegisterBlock
from ..errors import UserError
from ..ranges import check_power_of_two, check_within
from .csr import COLLECTIVES, MATCHING, REMOTE
from .groups import MOST_GROUPS
from .groups import MOST_PAGES as PAGES_WITH_GROUPS
from .messages import MOST_CELLS
from .packets import FIRST_BYTES, MOST_PEERS, Op, appends
from .tables import APERTURE_AT, MOST_PAGES, PROCESS_BYTES, WINDOW_HOST

if TYPE_CHECKING:
    from ..config import NicConfig

MOST_PROCESSES = 8  # that a peer's name has room for


@dataclass(frozen=True)
class RemoteParameters(BlockConfig):
    """Parameters of the remote-memory adapter.

    Attributes:
        processes: of this host that have a page of the adapter's window, a power of two.
        peers: NICs that it exchanges packets with, its own included; they are numbered from 0.
        pages: entries of a process's page table, a power of two.
        payload: most bytes of data in a packet, a power of two.
        read_bytes: most bytes that a request of a READ asks for, a power of two. 0: `payload`.
        answers: replies that may wait to be sent.
        streams: stream buffers of the aperture, a power of two; 0: there is no aperture.
        stream_bytes: of each of them, a power of two.
        stream_slots: time without a store after which what is in them is sent.
        quiet: 1: it knows QUIET records, which are answered and flagged only if they are refused (reply on failure).
        match_cells: messages, and receives, that it keeps to match them; each process has an equal share. 0: it does
            not match, and knows no SEND.
        groups: of each process, whose collectives it carries on, a power of two. 0: it knows no COLLECT.
    """

    name = "remote"
    declares = REMOTE
    takes_numbers = True  # it has none of them
    first_bytes = FIRST_BYTES

    processes: int = 8
    peers: int = 16
    pages: int = 256
    payload: int = 1024
    read_bytes: int = 0
    answers: int = 16
    streams: int = 0
    stream_bytes: int = 64
    stream_slots: int = 32
    quiet: int = 0
    match_cells: int = 0
    groups: int = 0

    def __post_init__(self):
        check_power_of_two(self, "processes", 1, MOST_PROCESSES)
        check_within(self, "peers", 1, MOST_PEERS)
        check_power_of_two(self, "pages", 2, MOST_PAGES)
        check_power_of_two(self, "payload", 16, 2048)
        if self.read_bytes != 0:
            check_power_of_two(self, "read_bytes", 4, self.payload)
        check_within(self, "answers", 1, 64)
        if self.streams != 0:
            check_power_of_two(self, "streams", 2, 8)
        check_power_of_two(self, "stream_bytes", 16, 128)
        check_within(self, "stream_slots", 2, 1 << 16)
        check_within(self, "quiet", 0, 1)
        if self.match_cells != 0:
            check_within(self, "match_cells", max(2, self.processes), MOST_CELLS)
        if self.groups != 0:
            check_power_of_two(self, "groups", 1, MOST_GROUPS)
            check_within(self, "pages", 2, PAGES_WITH_GROUPS)
            if not self.match_cells:
                raise UserError(f"groups={self.groups} need match_cells, whose receipts they use")
        if self.streams and self.stream_bytes > self.payload:
            raise UserError(f"stream_bytes={self.stream_bytes} must be at most payload={self.payload}")

    def appends(self, op):
        """Return 1 if an op, a signal, adds a record to a FIFO, or may."""
        adds = appends(op) | (op == Op.QUIET) if self.quiet else appends(op)
        return adds | (op == Op.SEND) if self.match_cells else adds

    @property
    def all_declared(self) -> RegisterBlock:
        if not self.match_cells:
            return REMOTE
        more = (*MATCHING.counters, *(COLLECTIVES.counters if self.groups else ()))
        return RegisterBlock(REMOTE.title, REMOTE.registers, REMOTE.events, (*REMOTE.counters, *more))

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
