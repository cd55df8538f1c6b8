"""Buffers that MPI owns: of operations that have begun and that the program has not completed.

Each has a digest of its bytes as MPI left them. What the program stores into one is found at its next
call. A store that leaves the bytes as they were is not seen, nor is a load.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .regions import Regions, digest, shared, size_of

MOST_WATCHED = 1 << 22  # bytes in flight; buffers beyond are compared when they end only


class Buffer(NamedTuple):
    """Memory that a call reads, or writes. `name` is the argument."""

    regions: Regions
    writes: bool
    name: str = ""


@dataclass
class Pending:
    """A buffer of an operation that `call` has begun at `place`. `keys`: what ends it."""

    buffer: Buffer
    call: str
    place: str
    number: int
    keys: frozenset[Hashable]
    watched: bool
    kept: bytes | None = None  # the digest


class Flight:
    """The buffers in flight. `watching` is off where other threads may be in the library."""

    def __init__(self) -> None:
        self.pending: list[Pending] = []
        self.watching = True
        self._size = 0

    def begin(
        self,
        buffers: Iterable[Buffer],
        call: str,
        place: str,
        number: int,
        keys: Iterable[Hashable],
        watch: bool = True,
    ) -> None:
        """An operation owns these buffers from now on."""
        for buffer in buffers:
            if buffer.regions:
                size = size_of(buffer.regions)
                watched = self.watching and watch and (not buffer.writes or self._size + size <= MOST_WATCHED)
                one = Pending(buffer, call, place, number, frozenset(keys), watched)
                if watched and not buffer.writes:
                    one.kept = digest(buffer.regions)
                self._size += size
                self.pending.append(one)

    def end(self, ends: Callable[[frozenset[Hashable]], bool]) -> None:
        """Operations are complete: those with keys of which this holds."""
        left = [one for one in self.pending if not ends(one.keys)]
        if len(left) != len(self.pending):
            self.pending = left
            self._size = sum(size_of(one.buffer.regions) for one in left)

    def regions(self) -> list[tuple[int, int]]:
        """Return all memory in flight."""
        return [region for one in self.pending for region in one.buffer.regions]

    def conflicts(self, buffer: Buffer) -> list[Pending]:
        """Return the buffers in flight that another call may not use so."""
        return [
            one
            for one in self.pending
            if (one.buffer.writes or buffer.writes) and shared(one.buffer.regions, buffer.regions) is not None
        ]

    def changed(self) -> list[Pending]:
        """Return the buffers that the program has stored into since MPI was left, each once."""
        found = []
        for one in self.pending:
            if one.watched and one.kept is not None:
                now = digest(one.buffer.regions)
                if now is not None and now != one.kept:
                    found.append(one)
                    one.watched = False
        return found

    def settle(self) -> None:
        """MPI is about to be left: what it has stored until now is not the program's doing."""
        for one in self.pending:
            if one.watched and one.buffer.writes:
                one.kept = digest(one.buffer.regions)
