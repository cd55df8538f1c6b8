"""The report as one HTML page that needs no network: bars, tables, flame graph, and a timeline to
zoom into."""

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from lanai_firmware import output_file

from ..trace import Trace
from . import flame
from .activity import GROUPS, Part
from .messages import MessageSum, protocol_name
from .profile import profile
from .ranks import RankSum, by_group
from .tables import body_line
from .thinning import thin
from .tracks import timeline

MOST_SLICES = 60_000  # on the page's timeline; a browser still moves that smoothly
MOST_MESSAGES = 3_000  # with their pieces


def write_page(path: str | Path, trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> None:
    """Write it. Raises UserError if the file cannot be written."""
    output_file.write(path, page(trace, ranks, messages), "the page")


def page(trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> str:
    """Template, style, script and data in one text."""
    here = files(__package__)
    title = " ".join(trace.meta.get("command", [])) or "a run"
    fire = flame.svg(profile(trace).stacks, "Firmware, by LBUS slots of all NICs") if len(trace.processor) else ""
    data = script_json(page_data(trace, ranks, messages))
    text = here.joinpath("page.html").read_text(encoding="utf-8")
    parts = {
        "title": escape(title),
        "style": here.joinpath("page.css").read_text(encoding="utf-8"),
        "flame": fire,
        "script": here.joinpath("page.js").read_text(encoding="utf-8"),
        "data": data,
    }
    return re.sub(
        r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text
    )  # in one pass: what is put in is not looked at again


def script_json(data: Any) -> str:
    """JSON that may stand in a <script> element: no text in it can begin a tag or a comment."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def page_data(trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> dict[str, Any]:
    """Return the data that the page's script shows. Times are picoseconds since the ranks began."""
    tracks, slices = _timeline(trace)
    shown = thin(slices, tracks, MOST_SLICES)
    return {
        "groups": list(GROUPS),
        "total": max((rank.end for rank in ranks), default=0) - trace.started,
        "facts": {
            "ranks": trace.ranks,
            "NICs": len(trace.nodes),
            "messages": len(trace.messages),
            "packets": len(trace.packets),
        },
        "missing": trace.missing + shown.lost,
        "ranks": [{"rank": rank.rank, "split": by_group(rank.split), "calls": _calls(rank)} for rank in ranks],
        "tracks": tracks,
        "slices": shown.slices,
        "messages": [_message(trace, message) for message in messages[:MOST_MESSAGES]],
    }


def _calls(rank: RankSum) -> list[dict[str, Any]]:
    return [{"name": call.name, "count": call.count, "split": by_group(call.split)} for call in rank.calls]


def _message(trace: Trace, message: MessageSum) -> dict[str, Any]:
    row = message.row
    return {
        "id": int(row["id"]), "source": int(row["source"]), "target": int(row["target"]), "tag": int(row["tag"]),
        "bytes": int(row["bytes"]), "protocol": protocol_name(row), "begin": message.begin - trace.started,
        "end": message.end - trace.started, "body": body_line(message.body), "pieces": [_piece(trace,
        *piece) for piece in message.pieces],
    }  # fmt: skip


def _piece(trace: Trace, part: Part, begin: int, end: int) -> list[Any]:
    return [part.group, part.detail, begin - trace.started, end - trace.started]


def _timeline(trace: Trace) -> tuple[list[str], list[list[Any]]]:
    """Names of tracks; [track, begin, end, name, message] of slices from the ranks' begin on."""
    groups: dict[int, str] = {}
    tracks: dict[tuple[int, int], int] = {}
    names: list[str] = []
    slices: list[list[Any]] = []
    for event in timeline(trace).events:
        place = event["pid"], event["tid"]
        if event["ph"] == "M" and event["name"] == "process_name":
            groups[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            tracks[place] = len(names)
            names.append(f"{groups[event['pid']]} · {event['args']['name']}")
        elif event["ph"] == "X":
            begin = round(event["ts"] * 1e6)
            end = begin + round(event["dur"] * 1e6)
            if end > 0:
                slices.append([tracks[place], begin, end, event["name"], event.get("args", {}).get("message", -1)])
    return names, slices
