"""Write a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing open: tracks with slices,
arrows between slices.

The file is the Trace Event Format in JSON. Times come in picoseconds and leave in microseconds with
six decimals, so nothing is rounded.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanai_firmware import output_file


def microseconds(picoseconds: int) -> float:
    return picoseconds / 1_000_000


class Timeline:
    """Groups (a rank, a NIC) hold tracks; tracks hold slices that nest or follow each other.

    Times are given in picoseconds. The file's time begins at `zero`; what ends before is left out."""

    def __init__(self, zero: int = 0) -> None:
        self._zero = zero
        self._events: list[dict[str, Any]] = []
        self._groups: dict[str, int] = {}
        self._tracks: dict[tuple[str, str], tuple[int, int]] = {}
        self._arrows = 0

    def track(self, group: str, name: str) -> tuple[int, int]:
        """The track of that name, made at its first mention; tracks appear in the order in which
        they were mentioned."""
        if (group, name) not in self._tracks:
            if group not in self._groups:
                process = self._groups[group] = len(self._groups) + 1
                self._describe("process_name", process, 0, {"name": group})
                self._describe("process_sort_index", process, 0, {"sort_index": process})
            process = self._groups[group]
            thread = len(self._tracks) + 1
            self._tracks[group, name] = (process, thread)
            self._describe("thread_name", process, thread, {"name": name})
            self._describe("thread_sort_index", process, thread, {"sort_index": thread})
        return self._tracks[group, name]

    def slice(
        self, track: tuple[int, int], name: str, begin: int, end: int, args: Mapping[str, Any] | None = None
    ) -> None:
        """Something that lasted from `begin` to `end`."""
        if end < self._zero:
            return
        begin = max(begin, self._zero)
        event = self._event("X", track, begin) | {"name": name, "dur": microseconds(end - begin)}
        if args:
            event["args"] = dict(args)
        self._events.append(event)

    def arrow(self, name: str, source: tuple[int, int], begin: int, target: tuple[int, int], end: int) -> None:
        """From the slice that covers `begin` on one track to the slice that covers `end` on
        another."""
        self._arrows += 1
        common = {"name": name, "cat": "message", "id": self._arrows}
        self._events.append(self._event("s", source, begin) | common)
        self._events.append(self._event("f", target, end) | common | {"bp": "e"})

    def write(self, path: str | Path) -> None:
        with output_file.replaced(path, "the timeline") as place, open(place, "w", encoding="utf-8") as file:
            json.dump({"displayTimeUnit": "ns", "traceEvents": self._events}, file, separators=(",", ":"))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events as they will be written."""
        return self._events

    def _event(self, phase: str, track: tuple[int, int], time: int) -> dict[str, Any]:
        return {"ph": phase, "pid": track[0], "tid": track[1], "ts": microseconds(time - self._zero)}

    def _describe(self, what: str, process: int, thread: int, args: dict[str, Any]) -> None:
        self._events.append({"ph": "M", "name": what, "pid": process, "tid": thread, "args": args})
