"""Views: which bytes of the file a process sees, as a stream of etypes.

A position is counted in bytes of that stream: the data of the filetype, tile after tile, without
its holes.
"""

from typing import NamedTuple

import numpy as np

from ..datatypes import BYTE, Datatype
from ..datatypes.runs import NO_RUNS, Ints
from ..errors import ErrorClass, MpiError
from .representation import NATIVE, Representation


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
