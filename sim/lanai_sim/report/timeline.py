"""A run as a tree of lanes over time: slices, values that change, and arrows between slices.

The page and the file for Perfetto are made of this one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .activity import GROUPS

CALL, ADAPTER, BARRIER = "MPI call", "adapter", "barrier tree"
KINDS = (*GROUPS, CALL, ADAPTER, BARRIER)  # of slices; bars show the first ones alone
Path = tuple[str, ...]  # names of lanes from the top, such as ("NICs", "NIC 0", "DMA", "SRAM to link")


class Slice(NamedTuple):
    """Something that lasted from `begin` to `end`, in picoseconds since the timeline's begin. `message`: that
    it was done for, or -1."""

    begin: int
    end: int
    name: str
    kind: str
    message: int = -1
    details: Mapping[str, Any] = {}


class Values(NamedTuple):
    """A value over time: it is `levels[i]` from `times[i]` on."""

    unit: str
    times: Sequence[int]
    levels: Sequence[int]


class Arrow(NamedTuple):
    """An arrow from the slice that covers `begin` on one lane to the slice that covers `end` on another."""

    name: str
    source: "Lane"
    begin: int
    target: "Lane"
    end: int


@dataclass(eq=False)
class Lane:
    """A row of the timeline. One with `children` shows all of theirs together while it is folded."""

    path: Path
    about: str = ""
    slices: list[Slice] = field(default_factory=list)
    values: Values | None = None
    children: list["Lane"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def title(self) -> str:
        return " · ".join(self.path[1:] or self.path)


class Timeline:
    """Lanes appear in the order in which they were mentioned, and only those that hold something.

    Times are given in picoseconds. The timeline begins at `zero`; what ends before is left out."""

    def __init__(self, zero: int = 0) -> None:
        self.zero = zero
        self.top: list[Lane] = []
        self.arrows: list[Arrow] = []
        self._lanes: dict[Path, Lane] = {}

    def lane(self, *path: str, about: str = "") -> Lane:
        """Return the lane of that path, made at its first mention."""
        if path not in self._lanes:
            made = self._lanes[path] = Lane(path, about)
            (self.lane(*path[:-1]).children if len(path) > 1 else self.top).append(made)
        return self._lanes[path]

    def slice(
        self,
        lane: Lane,
        kind: str,
        name: str,
        begin: int,
        end: int,
        message: int = -1,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Add something that lasted from `begin` to `end`."""
        if end >= self.zero:
            begin = max(begin, self.zero)
            lane.slices.append(Slice(begin - self.zero, end - self.zero, name, kind, message, details or {}))

    def values(self, lane: Lane, unit: str, times: Sequence[int], levels: Sequence[int]) -> None:
        """Let the lane show a value over time. What it was when the timeline begins is kept."""
        kept = [(max(time - self.zero, 0), level) for time, level in zip(times, levels, strict=True)]
        first = max((index for index, (time, _) in enumerate(kept) if time == 0), default=0)
        lane.values = Values(unit, *map(list, zip(*kept[first:], strict=True)))

    def arrow(self, name: str, source: Lane, begin: int, target: Lane, end: int) -> None:
        """Add an arrow between two slices."""
        self.arrows.append(Arrow(name, source, begin - self.zero, target, end - self.zero))

    def drop_empty(self) -> None:
        """Take away lanes that hold nothing, as those of what happened before the timeline begins, and arrows that
        begin or end there."""
        self.top = [lane for lane in self.top if _keep(lane)]
        self.arrows = [arrow for arrow in self.arrows if arrow.source.slices and arrow.target.slices]

    @property
    def lanes(self) -> Iterator[Lane]:
        """Every lane, each before those below it."""
        rest = self.top[::-1]
        while rest:
            lane = rest.pop()
            yield lane
            rest += lane.children[::-1]


def _keep(lane: Lane) -> bool:
    """Drop what is empty below a lane. Return True if the lane holds something then."""
    lane.children = [child for child in lane.children if _keep(child)]
    return bool(lane.children or lane.slices or lane.values is not None)


# Fewer slices and values for a page's timeline: what a browser can move, of every lane and of the whole
# time.


@dataclass(frozen=True)
class Thinned:
    """The slices kept of one lane, in the order in which they came. `lost` of them were left out; then the
    longest of every `window` picoseconds were kept."""

    slices: list[Slice]
    lost: int = 0
    window: int = 0


def thin(lanes: Sequence[Sequence[Slice]], most: int) -> list[Thinned]:
    """Keep at most about `most` slices. A lane with few keeps all; of the others, each window of time
    keeps its longest slice."""
    share = _share([len(lane) for lane in lanes], most)
    return [Thinned(list(lane)) if len(lane) <= share else _longest(lane, max(share, 1)) for lane in lanes]


def _share(sizes: Sequence[int], most: int) -> int:
    """Return how many slices a lane may keep, so that all lanes together keep at most `most`: small ones
    leave space to the others."""
    left, lanes = most, len(sizes)
    for size in sorted(sizes):
        if size * lanes > left:
            return left // lanes
        left -= size
        lanes -= 1
    return most


def _longest(lane: Sequence[Slice], windows: int) -> Thinned:
    """Keep the longest slice that begins in each of so many windows of the lane's time."""
    first = min(one.begin for one in lane)
    window = (max(one.end for one in lane) - first) // windows + 1
    found: dict[int, int] = {}
    for index, one in enumerate(lane):
        place = (one.begin - first) // window
        best = found.get(place)
        if best is None or one.end - one.begin > lane[best].end - lane[best].begin:
            found[place] = index
    kept = [lane[index] for index in sorted(found.values())]
    return Thinned(kept, len(lane) - len(kept), window)


def thin_values(values: Values, most: int) -> Values:
    """Keep at most about `most` levels: the largest of each window of time."""
    if len(values.times) <= most:
        return values
    window = (values.times[-1] - values.times[0]) // max(most, 1) + 1
    times: list[int] = []
    levels: list[int] = []
    for time, level in zip(values.times, values.levels, strict=True):
        begin = max(values.times[0] + (time - values.times[0]) // window * window, 0)
        if times and times[-1] == begin:
            levels[-1] = max(levels[-1], level)
        else:
            times.append(begin)
            levels.append(level)
    return Values(values.unit, times, levels)
