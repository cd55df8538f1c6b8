"""Data of the page as short JSON: texts by number, columns instead of rows, differences instead of times."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..timeline import KINDS, Lane, Slice, Values

WINDOWS = 200  # of a run, in each of which a lane that lost slices tells how busy it was


class Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.all)
            self.all.append(text)
        return self._numbers[text]


def script_json(data: Any) -> str:
    """Return JSON that may stand in a <script> element: no text in it can begin a tag or a comment."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def differences(numbers: Iterable[int]) -> list[int]:
    """Return the first number, and how much each of the others is more than the one before."""
    found, before = [], 0
    for number in numbers:
        found.append(number - before)
        before = number
    return found


def column(numbers: Sequence[int]) -> int | list[int]:
    """Return a column; one number if all are the same."""
    return numbers[0] if len(set(numbers)) == 1 else list(numbers)


def packed_slices(slices: Sequence[Slice], texts: Texts) -> dict[str, Any]:
    """Return slices, ordered by their begin, as columns: begins as differences, lengths, and for each
    its name, kind, message and details."""
    ordered = sorted(slices, key=lambda one: (one.begin, -one.end))
    return {
        "begin": differences(one.begin for one in ordered),
        "length": [one.end - one.begin for one in ordered],
        "name": column([texts.number(one.name) for one in ordered]),
        "kind": column([KINDS.index(one.kind) for one in ordered]),
        "message": column([one.message for one in ordered]),
        "details": column([texts.number(details(one)) for one in ordered]),
    }


def details(one: Slice) -> str:
    """Return what is known of a slice as a line of text."""
    return ", ".join(f"{name} {value}" for name, value in one.details.items())


def busy(slices: Sequence[Slice], total: int) -> dict[str, Any]:
    """Return the length of each of some equal windows of the run, and the percentage of it in which a lane had
    slices of each kind."""
    length = total // WINDOWS + 1
    edges = [length * window for window in range(WINDOWS + 1)]
    found: dict[int, list[int]] = {}
    for kind in sorted({one.kind for one in slices}):
        begins, ends = (np.array([one[side] for one in slices if one.kind == kind], np.int64) for side in (0, 1))
        before = [int(np.minimum(ends, edge).sum() - np.minimum(begins, edge).sum()) for edge in edges]
        found[KINDS.index(kind)] = [100 * part // length for part in np.diff(before).tolist()]
    return {"window": length, "share": found}


def packed_lane(
    lane: Lane, parent: int, slices: Sequence[Slice], values: Values | None, texts: Texts
) -> dict[str, Any]:
    """Return a lane: name, the place of the lane above it, and what it shows."""
    found: dict[str, Any] = {"name": lane.name, "parent": parent}
    if lane.about:
        found["about"] = lane.about
    if slices:
        found["slices"] = packed_slices(slices, texts)
    if values is not None:
        found["values"] = {"unit": values.unit, "time": differences(values.times), "level": list(values.levels)}
    return found
