"""Where the bytes of one operation are, as the NIC must be told: pinned user memory, or a bounce buffer.

Data in few runs go straight from and to the program's memory (NP-38). Data in many small runs, as strided datatypes give, are
gathered in a bounce buffer by the processor, because a page entry for every few bytes would cost the NIC more.
"""

import ctypes
from dataclasses import dataclass, field

from ...bus import Bus, HostBuffer, Pinned
from ...config import HostConfig, HostCost
from ...device import Segments
from ...pages import Piece, Pins, pieces_of, pieces_of_run

SHORTEST_RUN = 512  # bytes that runs must have on average to be worth a piece each
INLINE_PIECES = 2
PACKET = 4096


def merged(segments: Segments) -> list[tuple[int, int]]:
    """Runs without empty ones, neighbours joined."""
    runs: list[tuple[int, int]] = []
    for address, size in segments:
        if size and runs and runs[-1][0] + runs[-1][1] == address:
            runs[-1] = (runs[-1][0], runs[-1][1] + size)
        elif size:
            runs.append((address, size))
    return runs


def gather(runs: Segments) -> bytes:
    """The bytes of some runs of this process's memory."""
    if len(runs) == 1:
        return ctypes.string_at(*runs[0])
    return b"".join([ctypes.string_at(address, size) for address, size in runs])


def scatter(runs: Segments, data: bytes | memoryview) -> int:
    """Write bytes to runs, as many as both have; how many that was."""
    done = 0
    for address, size in runs:
        part = bytes(data[done : done + size])
        ctypes.memmove(address, part, len(part))
        done += len(part)
    return done


@dataclass
class Hold:
    """Memory lent to the NIC for one operation."""

    runs: list[tuple[int, int]]
    total: int
    pieces: list[Piece] = field(default_factory=list)
    pins: list[Pinned] = field(default_factory=list)
    bounce: HostBuffer | None = None
    entries: list[int] = field(default_factory=list)  # in the page table


class Memory:
    """Lends memory to the NIC and takes it back."""

    def __init__(self, bus: Bus, config: HostConfig) -> None:
        self.bus = bus
        self.pins = Pins(bus, config)
        self.bounces: dict[int, list[HostBuffer]] = {}
        self.copied = 0  # bytes that the processor copied and has not paid for

    async def lend(self, segments: Segments, outgoing: bool, bounce: bool = False) -> Hold:
        """Make the bytes reachable for the NIC. `bounce` asks for a copy even where pinning would do."""
        runs = merged(segments)
        hold = Hold(runs, sum(size for _, size in runs))
        if not hold.total:
            return hold
        if not bounce and len(runs) * SHORTEST_RUN <= hold.total + SHORTEST_RUN:
            for address, size in runs:
                pinned = await self.pins.pin(address, size)
                hold.pins.append(pinned)
                hold.pieces += pieces_of(pinned, address, size)
            if hold.total > PACKET or len(hold.pieces) <= INLINE_PIECES:
                return hold
            await self._unpin(hold)
        hold.bounce = self._bounce(hold.total)
        hold.pieces = pieces_of_run(hold.bounce.bus_address, hold.total)
        if outgoing:
            hold.bounce.view[: hold.total] = gather(runs)
            self.copied += hold.total
        return hold

    async def take_back(self, hold: Hold, received: int) -> None:
        """The NIC is done with the memory; `received` bytes at its start are new."""
        if hold.bounce is not None:
            if received:
                scatter(hold.runs, hold.bounce.view[:received])
                self.copied += received
            self.bounces.setdefault(hold.bounce.size, []).append(hold.bounce)
            hold.bounce = None
        await self._unpin(hold)

    async def _unpin(self, hold: Hold) -> None:
        for pinned in hold.pins:
            await self.pins.release(pinned)
        hold.pins = []
        hold.pieces = []

    def _bounce(self, size: int) -> HostBuffer:
        """A buffer of at least a page, in sizes of powers of two so that they can be used again."""
        rounded = 1 << max(12, (size - 1).bit_length())
        kept = self.bounces.get(rounded)
        return kept.pop() if kept else self.bus.allocate(rounded)

    def work(self) -> list[tuple[HostCost, int]]:
        """What the host's processor did since the last call."""
        work, self.pins.work = self.pins.work, []
        if self.copied:
            work = [*work, (HostCost.COPY, self.copied)]
            self.copied = 0
        return work
