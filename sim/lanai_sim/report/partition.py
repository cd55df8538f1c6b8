"""Split a stretch of time exactly among the things that went on in it.

Much happens at once: while the processor composes one packet the wire carries another. A report
that adds up must give each moment to one thing only. `partition` does so by rank: layers are asked
in order, and a moment belongs to the first layer in which something is active. What no layer claims
is left over. All times are integers, so the parts sum to the whole, always.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Layer:
    """Stretches [begin, end) of one kind, each with a label (a number that the caller knows the
    meaning of).

    Sorted by begin and not overlapping: one engine, one processor, one rank. `flat` makes them so.
    """

    begin: Times
    end: Times
    label: Times

    @classmethod
    def of(cls, begin: npt.ArrayLike, end: npt.ArrayLike, label: npt.ArrayLike) -> Self:
        """Any stretches, sorted and made disjoint: where two overlap the earlier one keeps the
        time. Empty ones vanish."""
        starts, ends = np.asarray(begin, np.int64), np.asarray(end, np.int64)
        labels = np.broadcast_to(np.asarray(label, np.int64), starts.shape)
        order = np.argsort(starts, kind="stable")
        starts, ends, labels = starts[order], ends[order], labels[order]
        if len(starts):
            reached = np.maximum.accumulate(ends)
            starts = np.maximum(starts, np.concatenate([starts[:1], reached[:-1]]))
        keep = ends > starts
        return cls(starts[keep], ends[keep], labels[keep])

    def within(self, begin: int, end: int) -> "Layer":
        """Return the part of the layer in [begin, end), clipped."""
        first = int(np.searchsorted(self.end, begin, side="right"))
        last = int(np.searchsorted(self.begin, end, side="left"))
        part = slice(first, last)
        return Layer(np.maximum(self.begin[part], begin), np.minimum(self.end[part], end), self.label[part])


@dataclass
class Parts:
    """The owner of each piece of time: `layer` (index, -1: none) and `label` for each piece [edge[i],
    edge[i+1])."""

    edges: Times
    layer: Times
    label: Times
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = int(self.edges[-1] - self.edges[0]) if len(self.edges) else 0

    def sums(self) -> dict[tuple[int, int], int]:
        """Time of each (layer, label); (-1, 0) is what no layer claimed. The values sum to
        `total`."""
        lengths = np.diff(self.edges)
        result: dict[tuple[int, int], int] = {}
        for layer, label, length in zip(self.layer.tolist(), self.label.tolist(), lengths.tolist(), strict=True):
            result[layer, label] = result.get((layer, label), 0) + length
        return result


def partition(begin: int, end: int, layers: Sequence[Layer]) -> Parts:
    """Split [begin, end) among `layers`, the first of them having the first claim to each
    moment."""
    clipped = [layer.within(begin, end) for layer in layers]
    edges = np.unique(
        np.concatenate([[begin, max(end, begin)], *(part.begin for part in clipped), *(part.end for part in clipped)])
    )
    edges = edges.astype(np.int64)
    pieces = len(edges) - 1
    owner = np.full(pieces, -1, np.int64)
    labels = np.zeros(pieces, np.int64)
    for index, part in enumerate(clipped):
        if not len(part.begin):
            continue
        at = np.searchsorted(part.begin, edges[:-1], side="right") - 1
        mine = (at >= 0) & (part.end[np.maximum(at, 0)] > edges[:-1]) & (owner < 0)
        owner[mine] = index
        labels[mine] = part.label[at[mine]]
    return Parts(edges, owner, labels)
