"""The place of the bytes of one message in this process's memory.

A `Body` describes memory and copies nothing until it is asked. A device may take a message's bytes
in any parts: each part costs its own bytes and no search through those before it."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from . import process_memory
from .bus.base import BusError


class Body(ABC):
    """The memory of `size` message bytes. A run is as many of them in a row as lie at adjacent
    addresses.

    `begin` and `end` count message bytes; `end` may be left out. Addresses of a stream are of the
    library's own memory."""

    __slots__ = ("size",)

    size: int

    @property
    def runs(self) -> int:
        """Return in how many runs the bytes lie."""
        return self.count_runs(0, self.size)

    @abstractmethod
    def count_runs(self, begin: int, end: int) -> int:
        """Return in how many runs bytes begin..end-1 lie."""

    @abstractmethod
    def segments(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """(address, bytes) of each run of a part, in the message's order. Made one after the other,
        as they are asked for."""

    @abstractmethod
    def pack(self, begin: int, end: int, stream: int) -> None:
        """Copy bytes begin..end-1 to the address `stream`. Raises BusError if not all of them can
        be read."""

    @abstractmethod
    def unpack(self, begin: int, end: int, stream: int) -> None:
        """Copy bytes begin..end-1 from the address `stream` to where they belong. Raises BusError
        if some of that memory cannot be written; the part before it may have been."""

    @property
    def address(self) -> int:
        """The address of the first byte; 0 without any."""
        return next(self.segments(), (0, 0))[0]

    def part(self, begin: int, end: int) -> "Body":
        """The body of bytes begin..end-1, or of those of them that there are."""
        end = min(end, self.size)
        begin = min(begin, end)
        return self if end - begin == self.size else Part(self, begin, end)

    def read(self) -> bytes:
        """All bytes. Raises BusError."""
        copied = bytearray(self.size)
        if self.size:
            self.pack(0, self.size, process_memory.address_of(copied))
        return bytes(copied)

    def write(self, data: bytes | memoryview) -> int:
        """Copy data to the memory, as much as there is room for; how many bytes that was. Raises
        BusError."""
        size = min(len(data), self.size)
        if size:
            self.unpack(0, size, process_memory.address_of(data))
        return size

    def unreadable(self) -> BusError:
        """The error for a body that cannot be read."""
        return process_memory.unreadable(self.address, self.size)

    def unwritable(self) -> BusError:
        """The error for a body that cannot be written."""
        return process_memory.unwritable(self.address, self.size)


class Run(Body):
    """Bytes that lie at adjacent addresses."""

    __slots__ = ("start",)

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.size = size

    def __repr__(self) -> str:
        return f"Run({self.start:#x}, {self.size})"

    @property
    def runs(self) -> int:
        return 1 if self.size else 0

    @property
    def address(self) -> int:
        return self.start if self.size else 0

    def count_runs(self, begin: int, end: int) -> int:
        return 1 if end > begin else 0

    def segments(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        size = (self.size if end is None else end) - begin
        return iter(((self.start + begin, size),) if size else ())

    def part(self, begin: int, end: int) -> Body:
        end = min(end, self.size)
        begin = min(begin, end)
        return Run(self.start + begin, end - begin)

    def pack(self, begin: int, end: int, stream: int) -> None:
        if not process_memory.copy(stream, self.start + begin, end - begin):
            raise self.unreadable()

    def unpack(self, begin: int, end: int, stream: int) -> None:
        if not process_memory.copy(self.start + begin, stream, end - begin):
            raise self.unwritable()

    def read(self) -> bytes:
        return process_memory.read(self.start, self.size)

    def write(self, data: bytes | memoryview) -> int:
        if not isinstance(data, bytes):
            return super().write(data)
        if len(data) > self.size:
            data = data[: self.size]
        process_memory.write(self.start, data)
        return len(data)


NOTHING = Run(0, 0)  # the body of a message without any bytes


class Runs(Body):
    """Bytes that lie in a list of (address, bytes)."""

    __slots__ = ("_ends", "_list")

    def __init__(self, segments: Sequence[tuple[int, int]]) -> None:
        self._list = _merged(segments)
        self._ends = [0, *accumulate(size for _, size in self._list)]  # message bytes before each run
        self.size = self._ends[-1]

    def __repr__(self) -> str:
        return f"Runs({self._list})"

    def count_runs(self, begin: int, end: int) -> int:
        if begin >= end:
            return 0
        return bisect_left(self._ends, end) - bisect_right(self._ends, begin) + 1

    def segments(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        end = self.size if end is None else end
        index = bisect_right(self._ends, begin) - 1
        while begin < end:
            skipped = begin - self._ends[index]
            size = min(end, self._ends[index + 1]) - begin
            yield self._list[index][0] + skipped, size
            begin += size
            index += 1

    def pack(self, begin: int, end: int, stream: int) -> None:
        for address, size in self.segments(begin, end):
            if not process_memory.copy(stream, address, size):
                raise self.unreadable()
            stream += size

    def unpack(self, begin: int, end: int, stream: int) -> None:
        for address, size in self.segments(begin, end):
            if not process_memory.copy(address, stream, size):
                raise self.unwritable()
            stream += size


class Headed(Runs):
    """A header of the library's and a body, which errors name: it is what the program knows."""

    __slots__ = ("_body",)

    def __init__(self, address: int, size: int, body: Body) -> None:
        super().__init__([(address, size), *body.segments()])
        self._body = body

    def unreadable(self) -> BusError:
        return self._body.unreadable()


class Part(Body):
    """Some bytes of another body, which errors name: it is what the program knows."""

    __slots__ = ("_begin", "_whole")

    def __init__(self, whole: Body, begin: int, end: int) -> None:
        self._whole = whole
        self._begin = begin
        self.size = end - begin

    def __repr__(self) -> str:
        return f"Part({self._whole!r}, {self._begin}, {self._begin + self.size})"

    def count_runs(self, begin: int, end: int) -> int:
        return self._whole.count_runs(self._begin + begin, self._begin + end)

    def segments(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        return self._whole.segments(self._begin + begin, self._begin + (self.size if end is None else end))

    def part(self, begin: int, end: int) -> Body:
        end = min(end, self.size)
        return self._whole.part(self._begin + min(begin, end), self._begin + end)

    def pack(self, begin: int, end: int, stream: int) -> None:
        self._whole.pack(self._begin + begin, self._begin + end, stream)

    def unpack(self, begin: int, end: int, stream: int) -> None:
        self._whole.unpack(self._begin + begin, self._begin + end, stream)

    def unreadable(self) -> BusError:
        return self._whole.unreadable()

    def unwritable(self) -> BusError:
        return self._whole.unwritable()


def _merged(segments: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs without empty ones, neighbours joined."""
    runs: list[tuple[int, int]] = []
    for address, size in segments:
        if size and runs and runs[-1][0] + runs[-1][1] == address:
            runs[-1] = (runs[-1][0], runs[-1][1] + size)
        elif size:
            runs.append((address, size))
    return runs
