"""The only way to hardware: programmed I/O to one NIC, host memory that the NIC may reach, and the
passing of host time.

The driver is written once over `Bus` and runs unchanged under Amaranth's simulator, under cocotb,
in the co-simulation and over a serial line to a board. Every operation is a plain function, which returns
when it is done. Where several hosts share a process, each runs in a greenlet (`greenlets`)."""

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..operation import Wait

PAGE_SIZE = 4096
# Each process of a host has a window of bus addresses, so that a NIC can tell their memory apart.
WINDOW = 1 << 28
WINDOW_MASK = 0xF000_0000


def window_of(local_rank: int) -> int:
    """Return the first bus address of the host memory of the `local_rank`-th rank on a NIC. Window 0 is
    no rank's."""
    return (local_rank + 1) * WINDOW


@dataclass(frozen=True)
class HostBuffer:
    """Page-aligned host memory that stays pinned and that the NIC sees as one run of bus
    addresses."""

    bus_address: int
    view: memoryview  # writable, of `size` bytes

    @property
    def size(self) -> int:
        return self.view.nbytes


@dataclass(frozen=True)
class Pinned:
    """Pages of a process's own memory that stay where they are until `Bus.unpin`.

    `pages[i]` is the bus address of the start of the page that holds byte `i * PAGE_SIZE - address
    % PAGE_SIZE` of the range."""

    address: int
    size: int
    writable: bool
    pages: tuple[int, ...]
    token: int = 0  # the implementation's own

    def bus_address(self, address: int) -> int:
        """Bus address of a byte of the range, given by its virtual address."""
        page = address // PAGE_SIZE - self.address // PAGE_SIZE
        if not 0 <= page < len(self.pages):
            raise ValueError(f"address {address:#x} is outside the pinned range {self.address:#x}+{self.size:#x}")
        return self.pages[page] + address % PAGE_SIZE


class Watched(NamedTuple):
    """Words of a buffer that a process waits for: 32 bits each, aligned, big-endian. `seen` is what
    they held at the last look."""

    buffer: HostBuffer
    offset: int
    seen: bytes

    @property
    def now(self) -> memoryview:
        """The bytes that the words hold now."""
        return self.buffer.view[self.offset : self.offset + len(self.seen)]


class KnownPoll(NamedTuple):
    """A poll of some words that takes time and, if none of them has changed, does nothing else.

    Members:
        picoseconds: the time of a poll.
        place: the place of the one word whose change need only be noted; -1: there is none.
        value: the word's value after that change.
        noting: picoseconds that noting it takes, beside a poll.
        first: the process catches up and polls before it waits; else only after a change.
        decisive: words as they are while a poll does nothing, whatever else has changed. The process is to poll
            again after each change of a word that it waits for, and wait on, until one of these has changed.
    """

    picoseconds: int
    place: int = -1
    value: bytes = bytes(4)
    noting: int = 0
    first: bool = True
    decisive: Sequence[Watched] = ()


class Slept(NamedTuple):
    """The end of a `Bus.look_and_wait`.

    Members:
        waited: the process had to wait for a change.
        noted: the word at `KnownPoll.place` has changed, and the time for noting it has passed.
        changed: another word has changed, one that is decisive if any is. If not, the time was up.
        polls: polls that did nothing.
    """

    waited: bool
    noted: bool
    changed: bool
    polls: int = 0


class BusError(Exception):
    """The NIC or the host bus refused an access."""


class Bus(ABC):
    """One process's access to one NIC and to host memory. Offsets are in the NIC's PIO window
    (`lanai_hdl.machine`)."""

    @property
    @abstractmethod
    def now(self) -> int:
        """Simulated host time in picoseconds."""

    @abstractmethod
    def read(self, offset: int) -> int:
        """Read one 32-bit word: its value, the byte at `offset` being the most significant."""

    @abstractmethod
    def write(self, offset: int, value: int) -> None:
        """Write one 32-bit word. Writes are posted, and arrive in order; a later read sees them."""

    @abstractmethod
    def write_block(self, offset: int, data: bytes) -> None:
        """Write any number of bytes anywhere, combined into bursts where the bus can."""

    def write_then(self, offset: int, data: bytes, register: int, value: int) -> None:
        """`write_block` of `data` at `offset`, then `write` of `value` to `register`."""
        self.write_block(offset, data)
        self.write(register, value)

    @abstractmethod
    def read_block(self, offset: int, size: int) -> bytes:
        """Read any number of bytes."""

    @abstractmethod
    def allocate(self, size: int, shared: bool = False) -> HostBuffer:
        """Host memory that both this process and the NIC reach; zeroed, rounded up to pages, kept
        until the bus closes. `shared`: other processes of this host may `store` to it too."""

    @abstractmethod
    def pin(self, address: int, size: int, writable: bool) -> Pinned:
        """Keep `size` bytes at this process's virtual `address` in place and translate them for the
        NIC."""

    @abstractmethod
    def unpin(self, pinned: Pinned) -> None:
        """Give up a range that `pin` returned."""

    @abstractmethod
    def wait_any(self, watched: Sequence[Watched], why: Wait | None = None, timeout: int = 0) -> int | None:
        """Return as soon as any of some words differ from what was seen: the first of `watched`
        that has changed, by its place.

        With `timeout`, return None after so many picoseconds without a change, or sooner if there
        is news of a lost rank. A second wait for the same does not count as pending work: if every
        process is in one and nothing moves, the simulation is deadlocked."""

    def wait_change(self, buffer: HostBuffer, offset: int, seen: int, why: Wait | None = None, timeout: int = 0) -> int:
        """`wait_any` for one word, which is returned; `seen` after `timeout`."""
        watched = Watched(buffer, offset, seen.to_bytes(4, "big"))
        self.wait_any((watched,), why, timeout)
        return int.from_bytes(watched.now, "big")

    def store(self, bus_address: int, data: bytes) -> None:
        """Write to memory that another process of this host has allocated as shared. It is there when
        this returns. Raises BusError for all other memory."""
        raise BusError(f"no process of this host shares memory at bus address {bus_address:#x}")

    @abstractmethod
    def elapse(self, picoseconds: int) -> None:
        """Let host time pass: work of the host's processor."""

    def work(self, picoseconds: int, watched: Sequence[Watched], why: Wait | None = None) -> None:
        """Let host time pass as `elapse` does, but not beyond a change of one of some words: that
        interrupts the processor. `picoseconds` is at least 1."""
        self.wait_any(watched, why, picoseconds)

    def catch_up(self) -> None:
        """Let the rest of the world come up to `now`, where `elapse` alone need not. A loop that
        polls memory must call it."""
        self.elapse(0)

    def look_and_wait(
        self, watched: Sequence[Watched], look: KnownPoll, why: Wait | None = None, timeout: int = 0
    ) -> Slept | None:
        """`catch_up`, and if none of the words has changed then, a poll of them and `wait_any`. Return
        when the process has something to do: None after `catch_up` alone, where this bus does no more.
        Only `wait_any` where the poll is not `first`."""
        if look.first:
            self.catch_up()
            return None
        return Slept(True, False, self.wait_any(watched, why, timeout) is not None)

    def forget_accesses(self) -> None:  # noqa: B027  # nothing to do where no answer is lost
        """The NIC has just been reset. Answer its accesses of host memory from before, also those whose
        request or answer was lost on the way: until all have an answer it makes no other."""

    def report_lost(self, rank: int, text: str) -> None:
        """Tell the simulator that `rank`, a rank of this host, can be reached no more;
        without `text`, that it can again."""
        return None  # without a job runner there is nothing to notify

    def lost(self) -> Mapping[int, str]:
        """Ranks that can be reached no more, as the simulator knows, and why."""
        return {}

    def unreceived(self) -> Sequence[tuple[int, int, int, int]]:
        """Messages on the NIC that no receive of this process has taken, as far as a simulator sees them: source, tag,
        context, length."""
        return ()

    def examine(self) -> str | None:
        """Have the driver's trusted half check the NIC: what is wrong with it, or None. None too where there is no
        such half."""
        return None


def words_of(watched: Sequence[Watched]) -> list[tuple[int, int]]:
    """(bus address, value seen) of each word. Raises ValueError for what is not a run of aligned words
    in its buffer."""
    words: list[tuple[int, int]] = []
    for buffer, offset, seen in watched:
        size = len(seen)
        if offset % 4 or size % 4 or not size or not 0 <= offset <= buffer.view.nbytes - size:
            raise ValueError(
                f"{size} bytes at {offset} of a buffer of {buffer.size} cannot be waited for: take whole aligned words"
            )
        first = buffer.bus_address + offset
        if size == 4:
            words.append((first, int.from_bytes(seen, "big")))
        else:
            words += zip(range(first, first + size, 4), struct.unpack(f">{size // 4}I", seen), strict=True)
    if not words:
        raise ValueError("a wait needs a word to wait for")
    return words


def changed(watched: Sequence[Watched]) -> int | None:
    """The place of the first that has changed; None if none has."""
    for place, one in enumerate(watched):
        if one.now != one.seen:
            return place
    return None
