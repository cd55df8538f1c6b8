"""Puts, and questions to other ranks' memory: what a NIC must do for the device, whatever carries it out (T3-01)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lanai_firmware.programs.put.layout import Kind

from ...bus.base import HostBuffer, KnownLook, Pinned, Watched
from ...operation import DeviceError
from .heap import HeapLayout

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

    def known_look(self, watched: Sequence[Watched], words: Sequence[Watched], picoseconds: int) -> KnownLook | None:
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
