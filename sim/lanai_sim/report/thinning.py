"""Fewer slices and values for a page's timeline: what a browser can move, of every lane and of the whole
time."""

from collections.abc import Sequence
from dataclasses import dataclass

from .timeline import Slice, Values


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
