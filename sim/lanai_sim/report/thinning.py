"""Fewer slices for a page's timeline: what a browser can move, of every track and of the whole
time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Slice = list[Any]  # track, begin, end, name, message


@dataclass(frozen=True)
class Thinned:
    """The slices kept, in the order in which they came, and a line for each track that lost
    some."""

    slices: list[Slice]
    lost: list[str]


def thin(slices: Sequence[Slice], names: Sequence[str], most: int) -> Thinned:
    """At most about `most` slices. A track with few keeps all; of the others, each window of time
    keeps its longest slice."""
    tracks: list[list[int]] = [[] for _ in names]
    for index, one in enumerate(slices):
        tracks[one[0]].append(index)
    if len(slices) <= most:
        return Thinned(list(slices), [])
    share = _share([len(track) for track in tracks], most)
    kept: list[int] = []
    lost: list[str] = []
    for name, track in zip(names, tracks, strict=True):
        if len(track) <= share:
            kept += track
            continue
        longest, window = _longest(slices, track, max(share, 1))
        kept += longest
        lost.append(
            f"{len(track) - len(longest):,} of {len(track):,} slices of {name} on this page's timeline: "
            f"it shows the longest of every {window / 1e6:,.3f} µs"
        )
    return Thinned([slices[index] for index in sorted(kept)], lost)


def _share(sizes: Sequence[int], most: int) -> int:
    """How many slices a track may keep, so that all tracks together keep at most `most`: small ones
    leave space to the others."""
    left, tracks = most, len(sizes)
    for size in sorted(sizes):
        if size * tracks > left:
            break
        left -= size
        tracks -= 1
    return left // tracks if tracks else most


def _longest(slices: Sequence[Slice], track: Sequence[int], windows: int) -> tuple[list[int], int]:
    """The longest slice that begins in each of so many windows of the track's time, and a window's
    length."""
    first = min(slices[index][1] for index in track)
    last = max(slices[index][1] for index in track)
    length = (last - first) // windows + 1
    found: dict[int, int] = {}
    for index in track:
        _, begin, end, *_ = slices[index]
        window = (begin - first) // length
        best = found.get(window)
        if best is None or end - begin > slices[best][2] - slices[best][1]:
            found[window] = index
    return list(found.values()), length
