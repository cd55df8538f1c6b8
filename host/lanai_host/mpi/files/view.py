"""Views: which bytes of the file a process sees, as a stream of etypes.

A position is counted in bytes of that stream: the data of the filetype, tile after tile, without
its holes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..attributes import Info
from ..datatypes import BYTE, Datatype
from ..datatypes.runs import NO_RUNS, Ints, merge_runs
from ..errors import ErrorClass, MpiError
from .representation import NATIVE, Representation

# Hints: the keys of Info objects that this library knows, with ROMIO's names. All others are
# ignored, as MPI says.

_SWITCHES = ("automatic", "enable", "disable")


class Hints(NamedTuple):
    """`cb_nodes`: how many processes do the system calls of a collective access, each
    `cb_buffer_size` bytes at a time. `cb_read`, `cb_write`: whether data is exchanged between
    processes first; "automatic" does it where accesses are interleaved."""

    cb_buffer_size: int
    cb_nodes: int
    cb_read: str
    cb_write: str

    def updated(self, info: Info | None, processes: int) -> "Hints":
        """With what `info` says. A value that means nothing is ignored, as hints are."""
        if info is None:
            return self
        return Hints(
            _number(info.get("cb_buffer_size"), self.cb_buffer_size, 2**40),
            _number(info.get("cb_nodes"), self.cb_nodes, processes),
            _switch(info.get("romio_cb_read"), self.cb_read),
            _switch(info.get("romio_cb_write"), self.cb_write),
        )

    def numbers(self) -> dict[str, int]:
        """Return the hints that must be the same on all processes."""
        switches = {"romio_cb_read": self.cb_read, "romio_cb_write": self.cb_write}
        return {
            "cb_buffer_size": self.cb_buffer_size,
            "cb_nodes": self.cb_nodes,
            **{name: _SWITCHES.index(value) for name, value in switches.items()},
        }

    def info(self) -> Info:
        """MPI_File_get_info."""
        return Info(
            [
                ("cb_buffer_size", str(self.cb_buffer_size)),
                ("cb_nodes", str(self.cb_nodes)),
                ("romio_cb_read", self.cb_read),
                ("romio_cb_write", self.cb_write),
            ]
        )


def default_hints(processes: int) -> Hints:
    """Return the hints of ROMIO, with every process a node of its own."""
    return Hints(16 << 20, processes, "automatic", "automatic")


def _number(text: str | None, usual: int, most: int) -> int:
    if text is None or not (text.isascii() and text.isdecimal()) or int(text) < 1:
        return usual
    return min(int(text), most)


def _switch(text: str | None, usual: str) -> str:
    return text if text in _SWITCHES else usual


class Runs(NamedTuple):
    """Adjacent bytes of the file, in the order of the stream."""

    offsets: Ints
    lengths: Ints

    @property
    def end(self) -> int:
        """The byte after the last one; 0 if there is none."""
        return int((self.offsets + self.lengths).max()) if len(self.offsets) else 0

    @property
    def first(self) -> int:
        return int(self.offsets.min()) if len(self.offsets) else 0

    def before(self, end: int) -> int:
        """Return how many bytes of the stream lie before byte `end` of the file, up to the first one that
        does not."""
        inside = np.clip(end - self.offsets, 0, self.lengths)
        cut = np.flatnonzero(inside < self.lengths)
        return int(inside.sum() if not len(cut) else inside[: cut[0] + 1].sum())


NOTHING = Runs(*NO_RUNS)


class View:
    """MPI_File_set_view. `etype` and `filetype` are as the program gave them; `unit` and `tile` the
    same as they lie in the file, where the representation makes a difference."""

    def __init__(
        self,
        displacement: int = 0,
        etype: Datatype = BYTE,
        filetype: Datatype = BYTE,
        representation: Representation = NATIVE,
    ) -> None:
        self.displacement = displacement
        self.etype = etype
        self.filetype = filetype
        self.representation = representation
        self.unit = representation.in_file(etype)
        self.tile = representation.in_file(filetype)

    def runs(self, position: int, size: int) -> Runs:
        """Return where bytes position..position+size-1 of the stream lie. Fewer, if the view shows no data
        at all."""
        tile = self.tile
        if size == 0 or tile.size == 0:
            return NOTHING
        if tile.dense:
            offset = self.displacement + tile.true_lb + position
            return Runs(np.array([offset]), np.array([size]))
        tiles = -(-(position + size) // tile.size)
        offsets, lengths = tile.layout.runs_of(position, position + size, tiles, tile.extent)
        return Runs(offsets + self.displacement, lengths)

    def byte_of(self, position: int) -> int:
        """The byte of the file at a position of the stream."""
        runs = self.runs(position, 1)
        return int(runs.offsets[0]) if len(runs.offsets) else self.displacement

    def position_of(self, end: int) -> int:
        """Return how many bytes of the stream lie before byte `end` of the file."""
        tile, inside = self.tile, end - self.displacement
        if tile.size == 0 or inside <= 0:
            return 0
        if tile.dense:
            return max(0, inside - tile.true_lb)
        whole = max(0, (inside - tile.true_ub) // tile.extent + 1) if tile.extent > 0 else 0
        offsets, lengths = _runs_of_one(tile)
        rest = inside - whole * tile.extent
        # Tiles may be interleaved: those that begin before `end` and are not whole.
        more = max(1, -(-(rest - tile.true_lb) // tile.extent)) if tile.extent > 0 else 1
        total = whole * tile.size
        for step in range(more):
            total += int(np.clip(rest - step * tile.extent - offsets, 0, lengths).sum())
        return total


def _runs_of_one(datatype: Datatype) -> tuple[Ints, Ints]:
    return datatype.layout.runs_of(0, datatype.size, 1, 0)


def check_types(call: str, etype: Datatype, filetype: Datatype, writable: bool) -> None:
    """Raise the MPI error for types that MPI does not allow in a view. Bytes may overlap if nothing can be written."""
    for name, datatype in (("etype", etype), ("filetype", filetype)):
        if not datatype.committed:
            raise MpiError(ErrorClass.TYPE, f"{call}: {name}, the datatype {datatype.name!r}, is not committed")
    if etype.size == 0:
        raise MpiError(ErrorClass.ARG, f"{call}: etype has no data")
    if filetype.size % etype.size:
        raise MpiError(
            ErrorClass.ARG,
            f"{call}: filetype has {filetype.size} bytes of data, which is not a multiple of the {etype.size} of etype",
        )
    offsets, lengths = _runs_of_one(filetype)
    if len(offsets) and offsets.min() < 0:
        raise MpiError(ErrorClass.IO, f"{call}: filetype has data at displacement {offsets.min()}, which is negative")
    if np.any(offsets[1:] < offsets[:-1] + (lengths[:-1] if writable else 0)):
        raise MpiError(ErrorClass.IO, f"{call}: the displacements of filetype overlap or decrease")


# The windows of a collective access: which process accesses which part of the file, and which of a process's runs lie
# in a part. Arithmetic only.

ALIGNMENT = 4096  # parts of different processes begin at multiples of this, so that they share no page


class Window(NamedTuple):
    """Bytes low..high-1 of the file, which process `rank` accesses for all."""

    rank: int
    low: int
    high: int


class Pieces(NamedTuple):
    """Runs, and where each lies in the stream of the process that they are of."""

    runs: Runs
    positions: Ints

    @property
    def size(self) -> int:
        return int(self.runs.lengths.sum())

    def segments(self, address: int) -> list[tuple[int, int]]:
        """Return where the pieces lie in memory, for a stream at `address`."""
        places, lengths = merge_runs(self.positions + address, self.runs.lengths)
        return list(zip(places.tolist(), lengths.tolist(), strict=True))


class Hull(NamedTuple):
    """First byte, the byte after the last, and the bytes of data of one process's access."""

    first: int
    end: int
    size: int


def plan(hulls: Sequence[Hull], hints: Hints, writing: bool) -> list[list[Window]]:
    """The windows of each round. None at all: every process accesses its own runs."""
    used = [hull for hull in hulls if hull.size]
    switch = hints.cb_write if writing else hints.cb_read
    if not used or switch == "disable" or (switch == "automatic" and not _interleaved(used)):
        return []
    low, high = min(hull.first for hull in used), max(hull.end for hull in used)
    share = -(-(high - low) // hints.cb_nodes)
    share = -(-share // ALIGNMENT) * ALIGNMENT
    starts = [low, *range(low // ALIGNMENT * ALIGNMENT + share, high, share)]
    ends = [*starts[1:], high]
    ranks = [index * len(hulls) // hints.cb_nodes for index in range(len(starts))]
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    rounds = []
    for done in range(0, longest, hints.cb_buffer_size):
        windows = (
            Window(rank, start + done, min(start + done + hints.cb_buffer_size, end))
            for rank, start, end in zip(ranks, starts, ends, strict=True)
        )
        rounds.append([window for window in windows if window.low < window.high])
    return rounds


def _interleaved(hulls: Sequence[Hull]) -> bool:
    """A process begins before one of lower rank has ended."""
    reached = 0
    for hull in hulls:
        if hull.first < reached:
            return True
        reached = max(reached, hull.end)
    return False


def cut(runs: Runs, low: int, high: int) -> Pieces:
    """Return the parts of a process's runs that lie in bytes low..high-1."""
    offsets, lengths = runs
    positions = np.cumsum(lengths) - lengths
    begins, ends = np.maximum(offsets, low), np.minimum(offsets + lengths, high)
    kept = ends > begins
    return Pieces(Runs(begins[kept], (ends - begins)[kept]), (positions + begins - offsets)[kept])


def united(several: Iterable[Runs]) -> Runs:
    """The bytes that any of them has, as runs that neither touch nor overlap, in order."""
    found = list(several)
    offsets = np.concatenate([runs.offsets for runs in found])
    if not len(offsets):
        return NOTHING
    ends = offsets + np.concatenate([runs.lengths for runs in found])
    order = np.argsort(offsets, kind="stable")
    offsets, ends = offsets[order], np.maximum.accumulate(ends[order])
    apart = np.flatnonzero(offsets[1:] > ends[:-1])
    firsts, lasts = np.concatenate(([0], apart + 1)), np.concatenate((apart, [len(ends) - 1]))
    return Runs(offsets[firsts], ends[lasts] - offsets[firsts])
