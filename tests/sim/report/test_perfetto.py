"""The timeline file has what its viewers ask for."""

import json
from pathlib import Path

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.report.perfetto import Timeline


def sample() -> Timeline:
    timeline = Timeline()
    sender, receiver = timeline.track("rank 0", "MPI"), timeline.track("rank 1", "MPI")
    timeline.slice(sender, "MPI_Send", 1_000_001, 3_000_000, {"peer": 1})
    timeline.slice(receiver, "MPI_Recv", 0, 9_000_000)
    timeline.arrow("4 bytes", sender, 1_000_001, receiver, 8_999_999)
    return timeline


def test_file_holds_tracks_slices_and_arrows(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    sample().write(path)
    events = json.loads(path.read_text())["traceEvents"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names == {(1, 1): "MPI", (2, 2): "MPI"}
    send = next(event for event in events if event["name"] == "MPI_Send")
    assert (send["ts"], send["dur"], send["args"]) == (1.000001, 1.999999, {"peer": 1})
    start, finish = (next(event for event in events if event["ph"] == phase) for phase in "sf")
    assert start["id"] == finish["id"]
    assert (start["pid"], finish["pid"], finish["bp"]) == (1, 2, "e")


def test_time_begins_at_zero() -> None:
    timeline = Timeline(zero=2_000_000)
    track = timeline.track("NIC 0", "processor")
    timeline.slice(track, "boot", 0, 1_999_999)
    timeline.slice(track, "main", 1_000_000, 5_000_000)
    timeline.slice(track, "poll", 5_000_000, 6_000_000)
    slices = [(event["name"], event["ts"], event["dur"]) for event in timeline.events if event["ph"] == "X"]
    assert slices == [("main", 0.0, 3.0), ("poll", 3.0, 1.0)]


def test_tracks_are_made_once() -> None:
    timeline = Timeline()
    assert timeline.track("nic 0", "processor") == timeline.track("nic 0", "processor")
    assert timeline.track("nic 0", "send DMA") != timeline.track("nic 0", "processor")


def test_unwritable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no_such/t\.json"):
        sample().write(tmp_path / "no_such" / "t.json")
