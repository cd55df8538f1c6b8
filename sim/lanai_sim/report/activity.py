"""A trace's events as layers of time: who was busy, when, with what, for which message.

All times are picoseconds here. A stretch of the processor that was held up on the LBUS is cut in
two: work first, then the stall, so that both can be summed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ..trace import Trace
from ..trace.schema import HOST_KINDS, Engine, HostKind, State

# Split a stretch of time exactly among the things that went on in it.
#
# Much happens at once: while the processor composes one packet the wire carries another. A report
# that adds up must give each moment to one thing only. `partition` does so by rank: layers are asked
# in order, and a moment belongs to the first layer in which something is active. What no layer claims
# is left over. All times are integers, so the parts sum to the whole, always.

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


Mask = npt.NDArray[np.bool_]


class Part(NamedTuple):
    """The part of the machine that a moment is counted for: one of GROUPS, and which of its kind."""

    group: str
    detail: str = ""


HOST, PIO, PROCESSOR, DMA, STALL, WIRE, PEER = (
    "host", "PIO", "NIC processor", "DMA", "LBUS stalls", "wire", "waiting for peer",
)  # fmt: skip
OUTSIDE = "program"
GROUPS = (OUTSIDE, HOST, PIO, PROCESSOR, DMA, STALL, WIRE, PEER)
WITHOUT_NICS = (OUTSIDE, HOST, WIRE, PEER)  # those that time may go to on a machine that has none
ENGINES = {
    Engine.HOST_READ: "host to SRAM",
    Engine.HOST_WRITE: "SRAM to host",
    Engine.SEND: "SRAM to link",
    Engine.RECEIVE: "link to SRAM",
}


class Labels:
    """Numbers for parts, given at first mention."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._numbers: dict[Part, int] = {}

    def number(self, part: Part) -> int:
        if part not in self._numbers:
            self._numbers[part] = len(self.parts)
            self.parts.append(part)
        return self._numbers[part]


class Stretches(NamedTuple):
    """Columns of equal length: begin, end, label (of a `Part`), and the message that it was done
    for (-1: none known)."""

    begin: Times
    end: Times
    label: Times
    message: Times

    def where(self, mask: Mask | npt.NDArray[np.int64]) -> "Stretches":
        return Stretches(*(column[mask] for column in self))

    def joined(self, more: "Stretches") -> "Stretches":
        return Stretches(*(np.concatenate(columns) for columns in zip(self, more, strict=True)))

    def layer(self) -> Layer:
        return Layer.of(self.begin, self.end, self.label)


class Activity:
    """The activity of a run, by kind of unit; that of firmware by function or by source line."""

    def __init__(self, trace: Trace, lines: bool = False) -> None:
        self.trace = trace
        self.lines = lines
        self.labels = Labels()

    def host(self, rank: int) -> Stretches:
        """Return the activity of a rank's processor in the library, without its waiting."""
        rows = self.trace.host[self.trace.host["rank"] == rank]
        rows = rows[rows["kind"] != HostKind.WAIT]
        labels = np.array([self._host_label(kind) for kind in range(len(HOST_KINDS))], np.int64)
        return Stretches(rows["begin"], rows["end"], labels[rows["kind"]], np.full(len(rows), -1, np.int64))

    def _host_label(self, kind: int) -> int:
        group = PIO if kind in (HostKind.PIO_READ, HostKind.PIO_WRITE) else HOST
        return self.labels.number(Part(group, HOST_KINDS[kind].lower().replace("_", " ")))

    @cached_property
    def processors(self) -> Stretches:
        """All NICs' processors at work; waiting in the wait register is not work, nor is being held
        up."""
        rows, worked = self._running
        label = self._by_place(rows["pc"], PROCESSOR)
        return _sorted(Stretches(self._ps(rows["begin"]), worked, label, rows["message"].astype(np.int64)))

    @cached_property
    def stalls(self) -> Stretches:
        """All NICs' processors held up on the LBUS."""
        rows, worked = self._running
        label = self._by_place(rows["pc"], STALL)
        return _sorted(Stretches(worked, self._ps(rows["end"]), label, rows["message"].astype(np.int64)))

    @cached_property
    def _running(self) -> tuple[Any, Times]:
        """The processors' stretches at work, and when in each of them the work is taken to end and
        the stall to begin."""
        rows = self.trace.processor[self.trace.processor["state"] == State.RUN]
        return rows, self._ps(rows["end"] - np.minimum(rows["stalled"], rows["end"] - rows["begin"]))

    def _by_place(self, pcs: Any, group: str) -> Times:
        """Labels by the function that each pc's line was written in, or by that line."""
        unique, inverse = np.unique(pcs, return_inverse=True)
        labels = [self.labels.number(Part(group, self._place(int(pc)))) for pc in unique]
        return np.array(labels, np.int64)[inverse] if len(labels) else np.zeros(0, np.int64)

    def _place(self, pc: int) -> str:
        place = self.trace.firmware.where(pc)
        if self.lines and place.file:
            return f"{place.file.split('/')[-1]}:{place.line} ({short(place.function)})"
        return short(place.function) or f"{pc:#x}"

    @cached_property
    def engines(self) -> Stretches:
        """All NICs' DMA engines."""
        rows = self.trace.dma
        numbers = np.array([self.labels.number(Part(DMA, ENGINES[Engine(i)])) for i in range(len(Engine))], np.int64)
        return _sorted(Stretches(*self._times(rows), numbers[rows["engine"]], rows["message"].astype(np.int64)))

    @cached_property
    def wires(self) -> Stretches:
        """Packets from leaving one NIC to having arrived whole at the other, and datagrams without
        a NIC. A lost packet ends when it left."""
        rows = self.trace.packets
        arrived = np.maximum(rows["arrival_tail"], rows["tail"])
        begin, end = self._ps(rows["head"]), self._ps(arrived)
        wire = self.labels.number(Part(WIRE))
        label = np.full(len(rows), wire, np.int64)
        known = rows["head"] >= 0
        packets = Stretches(begin, end, label, rows["message"].astype(np.int64)).where(known)
        return _sorted(packets.joined(self._datagrams(wire)))

    def _datagrams(self, label: int) -> Stretches:
        rows = self.trace.lines
        return Stretches(rows["begin"], rows["end"], np.full(len(rows), label), rows["message"].astype(np.int64))

    def _times(self, rows: Any) -> tuple[Times, Times]:
        return self._ps(rows["begin"]), self._ps(rows["end"])

    def _ps(self, slots: Any) -> Times:
        return np.asarray(self.trace.picoseconds(slots), np.int64).reshape(np.shape(slots))

    def layers(self, chosen: Callable[[Stretches], Mask]) -> list[Layer]:
        """Return the chosen activity of NICs, in the order in which a moment is counted."""
        return [kind.where(chosen(kind)).layer() for kind in self.kinds]

    @property
    def kinds(self) -> tuple[Stretches, ...]:
        """A processor that is held up while DMA moves the same message waits for that DMA, so DMA
        comes before stalls."""
        return self.processors, self.engines, self.stalls, self.wires


def short(function: str) -> str:
    """lanai_firmware.programs.mpi_np.matching.matching.find_expected -> matching.find_expected"""
    return ".".join(function.split(".")[-2:])


def _sorted(stretches: Stretches) -> Stretches:
    return stretches.where(np.argsort(stretches.begin, kind="stable"))
