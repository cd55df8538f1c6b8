"""Puts, and questions to other ranks' memory: what a NIC must do for the device, whatever carries it out (T3-01)."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lanai_firmware.programs.put.layout import Kind

from ...bus.base import PAGE_SIZE, Bus, HostBuffer, KnownPoll, Pinned, Watched
from ...operation import DeviceError
from .heap import WORD, HeapLayout

Words = Callable[[], list[Watched]]


class Remote(NamedTuple):
    """A place in the memory of another rank: an offset in its heap or, if it is `named`, a name that the rank has
    told (`Puts.share`, `Window.names`)."""

    rank: int
    address: int
    named: bool = False


class Put(NamedTuple):
    """`data`, or `size` bytes of this rank's heap at the bus address `source`.

    A `flag` arrives when all that was put before it is there, and not at all if something failed.
    """

    there: Remote
    data: bytes = b""
    source: int = 0
    size: int = 0
    flag: bool = False


class Question(NamedTuple):
    """`kind` about `size` bytes there; the answer goes to the bus address `result` of this rank's heap."""

    kind: int
    there: Remote
    result: int
    size: int = 4
    operand: int = 0


@dataclass(frozen=True)
class Window:
    """Bytes of this process that a peer may put to.

    Attributes:
        names: of its pieces, of which each ends where a page does.
        handle: what the NIC's driver needs to close it.
    """

    names: Sequence[int]
    handle: Any = None


def never() -> bool:
    """Return False: the NIC is well."""
    return False


class Puts(ABC):
    """A queue of puts and questions. None overtakes another on its way to the NIC.

    Attributes:
        memory: this rank's part of the heap.
        asked: puts and questions so far; one's number is what this is after it.
        news: a number that differs from that of the last look if something has come or ended.
        longest_put, longest_get: bytes that one request moves.
        most_pages: pages of the longest window.
    """

    memory: HostBuffer
    asked: int
    news: int
    longest_put: int
    longest_get: int
    most_pages: int

    @abstractmethod
    def open(self) -> None:
        """Let peers reach this rank's heap."""

    @abstractmethod
    def close(self, orderly: bool = True, lost: Callable[[], bool] = never) -> None:
        """Take this host's memory away from the NIC. Peers reach nothing of it when this returns.

        `orderly`: all has gone well, and peers are told that this rank needs nothing any more. `lost`: is the NIC?
        """

    @property
    @abstractmethod
    def failure(self) -> DeviceError | None:
        """The error of the NIC, or None. Its text continues a sentence that begins with "the NIC met"."""

    @abstractmethod
    def put(self, put: Put) -> int:
        """Queue a put; its number. `push` sends it on."""

    @abstractmethod
    def put_runs(self, rank: int, names: Sequence[int], pinned: Pinned, runs: Sequence[tuple[int, int]]) -> None:
        """Queue puts of runs of pinned bytes, one (address, bytes) behind the other, to the window that has these
        names."""

    @abstractmethod
    def ask(self, question: Question) -> None:
        """Queue a question. `push` sends it on."""

    @abstractmethod
    def share(self, memory: HostBuffer) -> int:
        """Let peers put to memory of this process that is not in its heap; the name of its first byte."""

    @abstractmethod
    def window(self, pinned: Pinned, address: int, size: int) -> Window | None:
        """Let a peer put to bytes that are pinned; None if the NIC has no room for a window now."""

    @abstractmethod
    def abandon(self) -> None:
        """The NIC was lost: it reaches no memory any more, and is given nothing more."""

    @abstractmethod
    def close_window(self, window: Window) -> None:
        """The bytes have come. No put to them is under way."""

    @property
    @abstractmethod
    def unanswered(self) -> int:
        """The number of questions without an answer."""

    @abstractmethod
    def completed(self, number: int) -> bool:
        """Return whether the put of that number and all before it have been read, so that their memory may change."""

    @abstractmethod
    def push(self) -> None:
        """Send on what the NIC has room for."""

    @abstractmethod
    def look(self, words: Words) -> None:
        """See what has come and what has ended. `words`: what peers write, as it is while nothing has come."""

    @abstractmethod
    def watched(self, words: Words) -> list[Watched]:
        """The words to sleep on after a look."""

    def known_poll(self, watched: Sequence[Watched], words: Sequence[Watched], picoseconds: int) -> KnownPoll | None:
        """A poll of `watched` that takes so long, and does nothing unless one of `words` has changed, which peers
        write. None if it may do something. Call `note` for a word noted."""
        return None

    def note(self) -> None:  # noqa: B027  # most have nothing that is noted
        """A word was noted: see what has ended."""

    def fence(self, rank: int, result: int) -> None:
        """Queue a fence: puts behind it leave once all earlier puts to a rank have arrived."""
        self.ask(Question(Kind.FENCE, Remote(rank, 0), result, size=0))

    def put_last(self, end: Remote, data: bytes, fixed: bytes, layout: HeapLayout) -> None:
        """Put `data` and behind it, at `end`, `fixed`, which tells that the data are there.

        One put where puts keep their order.
        """
        before = end._replace(address=end.address - len(data))
        if not layout.options.adaptive:
            self.put(Put(before, data + fixed))
            return
        if data:
            self.put(Put(before, data))
            if layout.options.fence:
                self.fence(end.rank, self.memory.bus_address + layout.nothing)
        self.put(Put(end, fixed))


# Flags of synchronous sends: the receiver sets one when the message has met a receive (T3-12).
#
# A program may have any number of synchronous sends under way, and its peers may take them in any
# order. So flags lie in blocks of pages that are added when they are needed, each longer than the one
# before. A flag is named as its NIC names memory (`Puts.share`).

GROWTH = 16  # a block has so many times the pages of the one before


class MatchedFlags:
    """`take` a flag, look whether it `is_set`, `give` it back."""

    def __init__(self, bus: Bus, puts: Puts) -> None:
        self._bus = bus
        self._puts = puts
        self._blocks: dict[int, HostBuffer] = {}  # by the name of its first byte
        self._names: list[int] = []  # of the blocks, sorted
        self._free: list[int] = []

    def take(self) -> int:
        """The name of a flag that is not set."""
        if not self._free:
            self._add(PAGE_SIZE * GROWTH ** len(self._blocks))
        flag = self._free.pop()
        WORD.pack_into(*self._word(flag), 0)
        return flag

    def is_set(self, flag: int) -> bool:
        return bool(WORD.unpack_from(*self._word(flag))[0])

    def give(self, flag: int) -> None:
        self._free.append(flag)

    def watched(self, flag: int) -> Watched:
        """The flag while it is not set."""
        buffer, offset = self._place(flag)
        return Watched(buffer, offset, bytes(WORD.size))

    def _add(self, size: int) -> None:
        block = self._bus.allocate(size)
        name = self._puts.share(block)
        self._blocks[name] = block
        self._names = sorted(self._blocks)
        self._free = list(range(name + size - WORD.size, name - 1, -WORD.size))

    def _place(self, flag: int) -> tuple[HostBuffer, int]:
        name = self._names[bisect_right(self._names, flag) - 1]
        return self._blocks[name], flag - name

    def _word(self, flag: int) -> tuple[memoryview, int]:
        buffer, offset = self._place(flag)
        return buffer.view, offset


# Words in each heap that tell which ranks have opened theirs, and which have left.
#
# A rank tells all others when it opens its heap. One that is not there yet does not hear it: its
# own heap is not open, and it tells the first when it comes.

ABSENT, HERE, LEFT = 0, 1, 2


class Presence:
    """The state of the other ranks, as this rank has heard: absent, here, or left.

    Args:
        memory: this rank's heap.
        begin: offset of the words in it, one of each rank.

    Attributes:
        place: where this rank's word stands in the heaps of others.
    """

    def __init__(self, memory: HostBuffer, begin: int, ranks: int, rank: int) -> None:
        self._memory = memory
        self._begin = -(-begin // WORD.size) * WORD.size
        self._others = [other for other in range(ranks) if other != rank]
        self._met = {rank}  # they have heard this rank
        self.place = self._begin + WORD.size * rank

    @staticmethod
    def room(ranks: int) -> int:
        """The bytes that the words take at most."""
        return WORD.size * (ranks + 1)

    def hello(self) -> Iterator[tuple[int, bytes]]:
        """To whom to tell that this rank is here: the rank, and the word."""
        return ((rank, WORD.pack(HERE)) for rank in self._others)

    def farewell(self) -> Iterator[tuple[int, bytes]]:
        """To whom to tell that this rank has left."""
        return ((rank, WORD.pack(LEFT)) for rank in self._others if self.is_there(rank) and not self.has_left(rank))

    def meet(self, rank: int) -> None:
        """A rank has heard this one."""
        self._met.add(rank)

    def is_there(self, rank: int) -> bool:
        """Return whether a rank has opened its heap."""
        return rank in self._met or self._word(rank) != ABSENT

    def has_left(self, rank: int) -> bool:
        return self._word(rank) == LEFT

    def watched(self, rank: int) -> Watched:
        """The word that a rank writes when it comes, as it is until then."""
        return Watched(self._memory, self._begin + WORD.size * rank, WORD.pack(ABSENT))

    def _word(self, rank: int) -> int:
        found: int = WORD.unpack_from(self._memory.view, self._begin + WORD.size * rank)[0]
        return found
