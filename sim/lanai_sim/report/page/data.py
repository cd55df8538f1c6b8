"""The data that the page's scripts show. Times are picoseconds since the ranks began."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...trace import Trace
from .. import rows
from ..activity import GROUPS, Part
from ..messages import MessageSum, matrix, protocol_name
from ..ranks import RankSum, Split, by_group, merged
from ..tables import body_line
from ..timeline import KINDS, Lane, Slice, Thinned, Values, thin, thin_values
from ..tracks import timeline

# Data of the page as short JSON: texts by number, columns instead of rows, differences instead of times.

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


MESSAGES = 8  # slices of the timeline for each message that is listed; as many pieces of their ways
VALUES = 2  # ... for each level of a value


class PageData:
    """All that a page shows of a run; what does not depend on the page's size is made once."""

    def __init__(self, trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> None:
        self._trace = trace
        self._messages = messages
        self._lanes = list(timeline(trace).lanes)
        self._total = max((rank.end for rank in ranks), default=0) - trace.started
        self._fixed = {
            "kinds": list(KINDS),
            "groups": len(GROUPS),
            "total": self._total,
            "facts": _facts(trace),
            "outcome": trace.outcome.get("report", ""),
            "missing": trace.missing,
            "ranks": [{"name": f"rank {rank.rank}", "split": _split(rank.split)} for rank in ranks],
            "calls": [[name, count, _split(split)] for name, count, split in rows.calls(ranks)],
            "places": [[name, at, count, _split(split)] for name, at, count, split in rows.places(ranks) if split],
            "sizes": _sizes(messages),
            "firmware": [list(row) for row in rows.firmware(messages)],
            "blocks": [list(row) for row in rows.blocks(trace)],
            "matrix": _matrix(trace),
        }

    def of(self, most: int) -> dict[str, Any]:
        """Return the data, with at most about `most` slices on the timeline, and so many messages and values as go
        with them."""
        texts = Texts()
        lanes, lost = _lanes(self._lanes, self._total, most, texts)
        shown = self._messages[: most // MESSAGES]
        if len(shown) < len(self._messages):
            left_out = len(self._messages) - len(shown)
            lost.append(f"{left_out:,} of {len(self._messages):,} messages: it lists the first ones")
        listed = _messages(self._trace, shown, texts, most, lost)
        return {**self._fixed, "lost": lost, "lanes": lanes, "messages": listed, "texts": texts.all}


def side_by_side(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the data of several runs as those of one page: each is a lane with all of its lanes below it, and all
    begin at the same moment. What belongs to one run alone, as its messages, is left out."""
    lanes: list[dict[str, Any]] = []
    texts: list[str] = []
    for name, run in runs.items():
        top = len(lanes)
        lanes.append({"name": name, "parent": -1})
        lanes += [_moved(lane, top, len(texts)) for lane in run["lanes"]]
        texts += run["texts"]
    one = next(iter(runs.values()))
    return {
        **{name: one[name] for name in ("kinds", "groups")},
        **{name: [] for name in ("calls", "places", "sizes", "firmware", "blocks", "matrix")},
        "messages": {name: [] for name in one["messages"]},
        "total": max(run["total"] for run in runs.values()),
        "facts": {"systems": len(runs)},
        "outcome": "",
        "missing": [f"{line} ({name})" for name, run in runs.items() for line in run["missing"]],
        "lost": [f"{name}: {line}" for name, run in runs.items() for line in run["lost"]],
        "ranks": [{"name": name, "split": _mean(run["ranks"])} for name, run in runs.items()],
        "lanes": lanes,
        "texts": texts,
    }


def _mean(ranks: Sequence[Mapping[str, Any]]) -> list[int]:
    return [sum(parts) // len(ranks) for parts in zip(*(rank["split"] for rank in ranks), strict=True)]


def _moved(lane: Mapping[str, Any], top: int, texts: int) -> dict[str, Any]:
    """Return a run's lane below the one in place `top`, on a page that has `texts` texts before those of the run."""
    moved = {**lane, "parent": top + 1 + lane["parent"]}
    if "slices" in lane:
        slices = moved["slices"] = {**lane["slices"], "message": -1}
        for name in ("name", "details"):
            numbers = slices[name]
            slices[name] = [texts + one for one in numbers] if isinstance(numbers, list) else texts + numbers
    return moved


def _facts(trace: Trace) -> dict[str, int | str]:
    """Return what the head says; nothing of what the run did not have."""
    numbers = {
        "ranks": trace.ranks,
        "NICs": len(trace.nodes),
        "messages": len(trace.messages),
        "packets": len(trace.packets),
    }
    return {"device": trace.meta.get("device", ""), **{name: count for name, count in numbers.items() if count}}


def _split(split: Split) -> list[int]:
    groups = by_group(split)
    return [groups.get(group, 0) for group in GROUPS]


def _sizes(messages: Sequence[MessageSum]) -> list[list[Any]]:
    """Return bytes, protocol, count, and the sums of messages of the same size and protocol."""
    return [
        [size, protocol, len(members), _split(merged([message.split for message in members]))]
        for size, protocol, members in rows.sizes(messages)
    ]


def _matrix(trace: Trace) -> list[list[int]]:
    """Return source, target, messages and bytes of each pair that has any."""
    found = matrix(trace)
    return [
        [int(i), int(j), int(found.messages[i, j]), int(found.bytes[i, j])]
        for i, j in zip(*np.nonzero(found.messages), strict=True)
    ]


def _lanes(lanes: Sequence[Lane], total: int, most: int, texts: Texts) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the timeline's lanes, each before those below it, and a line for each that lost slices. Such a lane
    tells how busy it was all the same."""
    kept = thin([lane.slices for lane in lanes], most)
    levels = most // VALUES // max(sum(lane.values is not None for lane in lanes), 1)
    places = {lane.path: place for place, lane in enumerate(lanes)}
    found = []
    for lane, one in zip(lanes, kept, strict=True):
        values = None if lane.values is None else thin_values(lane.values, levels)
        made = packed_lane(lane, places.get(lane.path[:-1], -1), one.slices, values, texts)
        found.append(made | ({"busy": busy(lane.slices, total)} if one.lost else {}))
    return found, _lost(lanes, kept)


def _lost(lanes: Sequence[Lane], kept: Sequence[Thinned]) -> list[str]:
    """Say what the timeline leaves out: lane by lane if they are few."""
    short = [(lane, one) for lane, one in zip(lanes, kept, strict=True) if one.lost]
    if not short:
        return []
    if len(short) <= 3:
        return [
            f"{one.lost:,} of {len(lane.slices):,} slices of {lane.title}: it shows the longest of every "
            f"{one.window / 1e6:,.3f} µs"
            for lane, one in short
        ]
    gone, all_slices = sum(one.lost for _, one in short), sum(len(lane.slices) for lane in lanes)
    windows = [one.window / 1e6 for _, one in short]
    shown = f"each of these shows the longest of every {min(windows):,.3f} to {max(windows):,.3f} µs"
    return [f"{gone:,} of {all_slices:,} slices of the timeline, in {len(short):,} of its lanes: {shown}"]


def _messages(trace: Trace, messages: Sequence[MessageSum], texts: Texts, most: int, lost: list[str]) -> dict[str, Any]:
    """Return messages as columns. `pieces` of each: (group, detail, length) of what follows each other from its
    begin on, and nothing for messages that are too many for that."""
    names = {"id": "id", "source": "source", "target": "target", "tag": "tag", "bytes": "bytes"}
    found: dict[str, Any] = {name: [int(one.row[key]) for one in messages] for name, key in names.items()}
    pieces: list[list[int]] = []
    for one in messages:
        most -= len(one.pieces)
        pieces.append([number for piece in one.pieces for number in _piece(texts, *piece)] if most >= 0 else [])
    if most < 0:
        lost.append(
            f"the moments of {pieces.count([]):,} of {len(pieces):,} messages: "
            "`lanai trace report --message N` has them"
        )
    return found | {
        "protocol": column([texts.number(protocol_name(one.row)) for one in messages]) if messages else [],
        "begin": differences(one.begin - trace.started for one in messages),
        "length": [one.total for one in messages],
        "body": [texts.number(body_line(one.body)) for one in messages],
        "calls": [texts.number(_calls(trace, one.row)) for one in messages],
        "pieces": pieces,
    }


def _calls(trace: Trace, row: Any) -> str:
    """Name the calls that sent and received a message, and their places: the cause of all that was done for it."""
    return " → ".join(_call(trace, int(row[column])) for column in ("send_call", "receive_call") if row[column] >= 0)


def _call(trace: Trace, call: int) -> str:
    name, site = trace.name(int(trace.calls["name"][call])), trace.site(call)
    return f"{name} at {site}" if site else name


def _piece(texts: Texts, part: Part, begin: int, end: int) -> tuple[int, int, int]:
    return GROUPS.index(part.group), texts.number(part.detail), end - begin
