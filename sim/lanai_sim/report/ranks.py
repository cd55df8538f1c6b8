"""The time of each rank, and of each MPI call: sums that are exact to the picosecond.

A rank's moments are booked in this order: what its own processor did in the library; the program
outside MPI; and while it waited in a call: the NICs' processors at work on messages from or to this
rank, DMA for them, the wire. When none of that went on it waited for a peer: for a message that
had not been sent yet, or a receive that had not been posted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..trace import Trace
from .activity import OUTSIDE, PEER, Activity, Layer, Mask, Part, Stretches, partition

Split = dict[Part, int]
PLACE_BITS = 32


@dataclass
class CallSum:
    """All calls of one name by one rank at one place of its program, which is empty if it is not known."""

    name: str
    place: str = ""
    count: int = 0
    split: Split = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.split.values())


@dataclass
class RankSum:
    """One rank's run; `calls` by name and place, in order of time spent."""

    rank: int
    begin: int
    end: int
    split: Split
    calls: list[CallSum]

    @property
    def total(self) -> int:
        return self.end - self.begin


def add(split: Split, part: Part, time: int) -> None:
    split[part] = split.get(part, 0) + time


def merged(splits: Mapping[Part, int] | list[Split]) -> Split:
    """The sum of several."""
    result: Split = {}
    for split in splits if isinstance(splits, list) else [dict(splits)]:
        for part, time in split.items():
            add(result, part, time)
    return result


def by_group(split: Split) -> dict[str, int]:
    """Return the times of a split by group of parts."""
    groups: dict[str, int] = {}
    for part, time in split.items():
        groups[part.group] = groups.get(part.group, 0) + time
    return groups


def rank_sums(activity: Activity) -> list[RankSum]:
    return [rank_sum(activity, rank) for rank in range(activity.trace.ranks)]


def rank_sum(activity: Activity, rank: int) -> RankSum:
    """Book every moment of one rank."""
    trace = activity.trace
    begin, end = trace.started, trace.ends[rank]
    calls = outermost(trace, rank, end)
    mine = _messages_of(trace, rank)

    def concerns(stretches: Stretches) -> Mask:
        return np.isin(stretches.message, mine)

    outside = _gaps(calls, begin, end, activity.labels.number(Part(OUTSIDE)))
    layers = [activity.host(rank).layer(), outside, *activity.layers(concerns)]
    parts = partition(begin, end, layers)
    split: Split = {}
    kinds, counts = (column.tolist() for column in np.unique(calls.label, return_counts=True))
    sums = {label: CallSum(*_named(trace, label), count) for label, count in zip(kinds, counts, strict=True)}
    inside = np.searchsorted(calls.begin, parts.edges[:-1], side="right") - 1
    lengths = np.diff(parts.edges).tolist()
    labels = activity.labels.parts
    for owner, label, which, start, length in zip(
        parts.layer.tolist(), parts.label.tolist(), inside.tolist(), parts.edges[:-1].tolist(), lengths, strict=True
    ):
        part = labels[label] if owner >= 0 else Part(PEER)
        add(split, part, length)
        if which >= 0 and start < calls.end[which]:
            add(sums[int(calls.label[which])].split, part, length)
    return RankSum(
        rank, begin, end, split, sorted(sums.values(), key=lambda call: (-call.total, call.name, call.place))
    )


def outermost(trace: Trace, rank: int, end: int) -> Layer:
    """Return the calls that the program itself made, labelled by the numbers of their names and places. One that
    never ended lasts to the rank's end."""
    rows = trace.calls[(trace.calls["rank"] == rank) & (trace.calls["parent"] < 0)]
    ends = np.where(rows["end"] < 0, end, rows["end"])
    order = np.argsort(rows["begin"], kind="stable")
    labels = rows["name"].astype(np.int64) << PLACE_BITS | rows["site"] + 1
    return Layer(rows["begin"][order], ends[order], labels[order])


def _named(trace: Trace, label: int) -> tuple[str, str]:
    """Return name and place of a label of `outermost`."""
    name, site = label >> PLACE_BITS, (label & ((1 << PLACE_BITS) - 1)) - 1
    return trace.name(name), trace.name(site) if site >= 0 else ""


def _messages_of(trace: Trace, rank: int) -> npt.NDArray[np.int64]:
    rows = trace.messages
    return np.flatnonzero((rows["source"] == rank) | (rows["target"] == rank))


def _gaps(calls: Layer, begin: int, end: int, label: int) -> Layer:
    """The time between calls."""
    starts = np.concatenate([[begin], calls.end])
    stops = np.concatenate([calls.begin, [end]])
    return Layer.of(starts, np.maximum(starts, stops), label)
