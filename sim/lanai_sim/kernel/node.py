"""One NIC as host programs reach it: PIO with its time, bus pages, words to wait for. Both kinds of
host program, coroutines in this process and ranks in their own, stand on this."""

import struct
from collections import deque
from collections.abc import Awaitable, Sequence
from mmap import mmap
from typing import Protocol

from lanai_hdl.errors import UserError
from lanai_hdl.machine import COUNTER_NAMES, PAGE_SIZE, PIO_WINDOW_SIZE, host_offset
from lanai_host.bus.base import WINDOW, Bus, window_of

from ..engines.base import Access, Burst, Engine, PackedBursts
from ..engines.words import Continuation, Stage, Words
from .kernel import Kernel, Suspension

COMES, ENDS = int(Stage.COMES), int(Stage.ENDS)  # compared in every wait
STORED = 1  # the value that `Suspension.resume` gets for a change of a word that no NIC made
WINDOW_PAGES = WINDOW // PAGE_SIZE  # bus pages of one process: 256 MB
NEWS = 1_000_000_000  # picoseconds until all know of a lost rank, by whatever network the job's manager has


class BusPages:
    """The bus pages of one process: [first, first + WINDOW_PAGES). Fresh ones first, then those
    given back longest ago, so that a stale address is refused for as long as can be."""

    def __init__(self, local_rank: int) -> None:
        self._first = window_of(local_rank) // PAGE_SIZE
        self._end = self._first + WINDOW_PAGES
        self.begin()

    def begin(self) -> None:
        """Make all pages free."""
        self._next = self._first
        self._free: deque[int] = deque()

    def run(self, count: int) -> int:
        """`count` pages in a row, never given back."""
        if self._next + count > self._end:
            raise UserError(
                f"{count} pages in a row do not fit into what is left of a process's 256 MB of bus addresses"
            )
        first = self._next
        self._next += count
        return first

    def take(self, count: int) -> list[int]:
        """Any `count` pages."""
        if count > self._end - self._next + len(self._free):
            raise UserError(
                f"{count} pages at once are more than a process's 256 MB of bus addresses hold; pin less at a time"
            )
        fresh = min(count, self._end - self._next)
        pages = list(range(self._next, self._next + fresh))
        self._next += fresh
        return pages + [self._free.popleft() for _ in range(count - fresh)]

    def give_back(self, pages: list[int]) -> None:
        self._free.extend(pages)


class SharedMemory:
    """The memory that the processes of a host have allocated as shared, by bus address: all of them may
    store to it, and to nothing else."""

    def __init__(self) -> None:
        self._buffers: dict[int, mmap] = {}

    def add(self, first: int, memory: mmap) -> None:
        self._buffers[first] = memory

    def remove(self, first: int) -> None:
        """Remove the buffer of a process that has left. It may be called twice for one buffer."""
        self._buffers.pop(first, None)

    def write(self, address: int, data: bytes) -> None:
        """Raises UserError for a range that is not all in one buffer."""
        for first, memory in self._buffers.items():
            if first <= address and address + len(data) <= first + len(memory):
                memory[address - first : address - first + len(data)] = data
                return
        raise UserError(
            f"{len(data)} bytes at bus address {address:#x} are in no memory that a process of this host shares"
        )


class WaitTimeout:
    """The time that one process waits for words before it looks at its NIC.

    Members:
        time: picoseconds.
        expired: the last wait ended so, and the process waits for the same again.
        since: when it began to.
        heard: how much it has asked for of what was reported to all.
    """

    def __init__(self) -> None:
        self.time = 0
        self.expired = False
        self.since = 0
        self.heard = 0
        self._words = b""

    def wait(self, clock: int, time: int, words: Words, news: int = 0) -> "WaitTimeout | None":
        """For a wait from `clock` on that is to last `time` picoseconds at most; None for one
        without end. `news`: how much has been reported to all; the process has not asked for that since `heard`, so it
        is woken soon."""
        waited_for = words.key
        self.expired = self.expired and waited_for == self._words
        if news != self.heard and time:
            self.heard, self.expired, time = news, False, min(time, NEWS)
        if not self.expired:
            self.since = clock
        self.time, self._words = time, waited_for
        return self if time else None


def words_of(offset: int, data: bytes) -> list[tuple[int, int, int]]:
    """The word accesses (address, value, byte enables) that write `data` at a byte offset."""
    lead = offset % 4
    padded = bytes(lead) + data + bytes(-(lead + len(data)) % 4)
    base = offset - lead
    words = [(base + 4 * i, value, 0b1111) for i, (value,) in enumerate(struct.iter_unpack(">I", padded))]
    if words and lead:
        words[0] = (words[0][0], words[0][1], words[0][2] & (0b1111 >> lead))
    tail = -(lead + len(data)) % 4
    if words and tail:
        words[-1] = (words[-1][0], words[-1][1], words[-1][2] & (0b1111 << tail & 0b1111))
    return words


class EngineEvents(Protocol):
    """The receiver of the events of a node's engine (`Cluster`)."""

    engine: Engine
    kernel: Kernel

    def expect(self) -> tuple[int, Suspension[tuple[int, int]]]:
        """A tag for the engine, and the suspension that ends with (time, value) when it comes
        back."""

    def forget(self, tag: int) -> None:
        """The wait is over: drop its suspension."""

    def go_on(self, tag: int, continuation: Continuation) -> None:
        """The engine goes on with a continuation of the bursts of this tag. The suspension of the tag ends with that,
        or when it is taken back, and gives the time at which the bursts were done, and 0."""

    def take_back(self) -> bool:
        """Let tasks go on with the continuations that the engine has begun."""


class Node:
    """A NIC's host side. Operations take the host's time in picoseconds and give it back."""

    def __init__(self, events: EngineEvents, number: int) -> None:
        self.events = events
        self.engine = events.engine
        self.kernel = events.kernel
        self.number = number
        self.memory = SharedMemory()
        self._waits: dict[int, tuple[Words, Suspension[tuple[int, int]]]] = {}  # for words, by tag
        self._attached = 0
        self.was_reset = False  # since its boot
        self.kept: dict[str, int] = {}  # what its counters said before that, as far as they were read

    def new_bus_pages(self) -> BusPages:
        """Bus pages for one more process."""
        pages = BusPages(self._attached)
        self._attached += 1
        return pages

    def keep_counts(self, bus: Bus) -> None:
        """Add the counters to those that are kept, before a reset clears them."""
        for name in COUNTER_NAMES:
            self.kept[name] = self.kept.get(name, 0) + bus.read(host_offset(name))

    async def read(self, clock: int, offset: int, size: int) -> tuple[int, bytes]:
        """Read bytes, word by word; a processor waits for each."""
        self._check(offset, size)
        first = offset & ~3
        answer = b""
        for address in range(first, offset + size, 4):
            clock, value = await self.perform(clock, [Burst(0, address)])
            answer += value.to_bytes(4, "big")
        return clock, answer[offset - first :][:size]

    async def write(self, clock: int, offset: int, data: bytes) -> int:
        """Write bytes. The processor goes on when the NIC has taken the last word; it may still be
        on its way inside."""
        return await self.write_all(clock, [Burst(0, offset, data)])

    async def write_all(self, clock: int, bursts: Sequence[Burst]) -> int:
        """Write what a processor writes in a row, its own work between included."""
        late = 0  # work before a write of nothing
        wanted: list[Burst] = []
        for burst in bursts:
            self._check(burst.offset, len(burst.data))
            if burst.data:
                wanted.append(burst._replace(elapsed=burst.elapsed + late) if late else burst)
                late = 0
            else:
                late += burst.elapsed
        return (await self.perform(clock, wanted) if wanted else (clock, 0))[0] + late

    def write_packed(
        self, clock: int, packed: PackedBursts, continuation: Continuation | None = None
    ) -> "Suspension[tuple[int, int]] | None":
        """Write what a processor writes in a row from `clock` on. The suspension ends with the time at which it is
        done, and 0. None if the engine takes no such writes. The continuation may have begun or ended by then, as its
        state says."""
        tag, answer = self.events.expect()
        if self.engine.packed_bursts(self.number, clock, packed, tag, continuation):
            if continuation is not None:
                self.events.go_on(tag, continuation)
            return answer
        self.events.forget(tag)
        return None

    async def perform(self, clock: int, bursts: Sequence[Burst]) -> tuple[int, int]:
        """PIO of one processor from `clock` on: the time at which it is done, and the word that the
        last burst read."""
        tag, answer = self.events.expect()
        if self.engine.bursts(self.number, clock, bursts, tag):
            return await answer
        self.events.forget(tag)
        value = 0
        for burst in bursts:
            words = words_of(burst.offset, burst.data) or [(burst.offset, 0, 0b1111)]
            clock, value = await self._access(clock + burst.elapsed, words, write=bool(burst.data))
        return clock, value

    async def changed(
        self,
        clock: int,
        words: Words,
        number: int,
        timeout: "WaitTimeout | None" = None,
        begun: Continuation | None = None,
    ) -> int:
        """Wait from `clock` on until one of some words differs from what was seen, or until
        `timeout`. `begun`: a continuation in which the wait has begun.

        They are watched from now on: the engine need not stop at `clock`. `native/continuations.h` waits in the
        same way.
        """
        kernel, slots = self.kernel, self.engine.time
        first_look = slots.picoseconds(slots.slot(clock))  # a change up to then is there when the process looks
        stage, since = (words.wait_begins(), clock) if begun is None else (begun.state.stage, begun.state.since)
        if clock > kernel.limit:
            stage = COMES
        has_looked = since > clock
        while stage != ENDS:
            if stage == COMES:
                await kernel.until(clock, number)
                stage, since = words.wait_looks(), clock
            elif (told := await self._change(since, words, number, timeout)) is None:
                since = kernel.now
                break
            elif has_looked:
                stage, since = words.wait_looks(), told[0]
            else:
                since, value = told
                stage = words.wait_told(since, clock if value == STORED else first_look)
            has_looked = True
        if timeout is not None:
            timeout.expired = not words.changed
        return since

    async def _change(
        self, clock: int, words: Words, number: int, timeout: "WaitTimeout | None"
    ) -> tuple[int, int] | None:
        """Time of the next write that changes a word, and whether a processor `STORED` it; None
        if `timeout` comes first."""
        tag, answer = self.events.expect()
        self._waits[tag] = words, answer
        self.engine.watch_words(self.number, words, tag)
        if timeout is not None:
            self.kernel.wake_at(clock + timeout.time, number, answer, timeout.expired, since=clock)
        told: tuple[int, int] | None = await answer
        self.engine.unwatch(self.number, tag)
        del self._waits[tag]
        if told is None:
            self.events.forget(tag)
        return told

    async def store(self, clock: int, number: int, address: int, data: bytes) -> None:
        """A processor's stores to memory of this host, at `clock`. Raises UserError if no process has
        allocated it."""
        await self.kernel.until(clock, number)
        await self.kernel.alone()
        self.events.take_back()
        self.memory.write(address, data)
        for tag, (words, answer) in list(self._waits.items()):
            if not answer.done and words.changed:
                self.events.forget(tag)
                answer.resume((self.kernel.now, STORED))

    async def _access(self, clock: int, words: list[tuple[int, int, int]], write: bool) -> tuple[int, int]:
        await self.kernel.until(clock, self.number)
        tag, answer = self.events.expect()
        slot = max(self.engine.time.slot(clock), self.engine.slot(self.number))
        last = len(words) - 1
        self.engine.pio(
            self.number,
            [
                Access(slot, write, address, value, be, tag if i == last else 0)
                for i, (address, value, be) in enumerate(words)
            ],
        )
        return await answer

    def _check(self, offset: int, size: int) -> None:
        if offset < 0 or offset + size > PIO_WINDOW_SIZE:
            raise UserError(
                f"PIO at {offset:#x}, {size} bytes, is outside the NIC's window of {PIO_WINDOW_SIZE:#x} bytes"
            )


Answer = Awaitable[tuple[int, int]]
__all__ = ["PAGE_SIZE", "Answer", "BusPages", "Node", "WaitTimeout", "words_of"]
