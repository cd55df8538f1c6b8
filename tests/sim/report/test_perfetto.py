"""The timeline file has what its viewers ask for."""

from pathlib import Path
from typing import Any

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.report import perfetto
from lanai_sim.report.activity import HOST, PROCESSOR
from lanai_sim.report.perfetto import Event, Interned, TracePacket, Track, Type, write
from lanai_sim.report.timeline import CALL, Timeline

from .protobuf import fields, members


def sample() -> Timeline:
    timeline = Timeline()
    sender, receiver = timeline.lane("ranks", "rank 0", "MPI"), timeline.lane("ranks", "rank 1", "MPI")
    timeline.slice(sender, CALL, "MPI_Send", 1_000_001, 3_000_000, 7, {"peer": 1})
    timeline.slice(receiver, CALL, "MPI_Recv", 0, 9_000_000)
    timeline.arrow("4 bytes", sender, 1_000_001, receiver, 8_999_999)
    timeline.values(timeline.lane("NICs", "NIC 0", "LBUS in use"), "% of slots", [0, 5000, 9000], [10, 100, 0])
    return timeline


class File:
    """A file as a viewer reads it."""

    def __init__(self, path: Path) -> None:
        packets = [members(packet) for packet in members(path.read_bytes())[1]]  # type: ignore[arg-type]
        assert all(packet[TracePacket.SEQUENCE_ID] == [1] for packet in packets)
        described = [one for packet in packets for one in packet.get(TracePacket.TRACK_DESCRIPTOR, [])]
        tracks = [members(one) for one in described]  # type: ignore[arg-type]
        self.tracks = {one[Track.UUID][0]: one for one in tracks}
        self.texts: dict[tuple[int, Any], str] = {}
        self.events: list[tuple[Any, dict[int, list[Any]]]] = []
        for packet in packets:
            for interned in packet.get(TracePacket.INTERNED_DATA, []):
                for kind, entry in fields(interned):  # type: ignore[arg-type]
                    found = members(entry)  # type: ignore[arg-type]
                    self.texts[kind, found[1][0]] = found[2][0].decode()  # type: ignore[union-attr]
            for event in packet.get(TracePacket.TRACK_EVENT, []):
                self.events.append((packet[TracePacket.TIMESTAMP][0], members(event)))  # type: ignore[arg-type]

    def path(self, uuid: Any) -> tuple[str, ...]:
        track = self.tracks[uuid]
        above = self.path(track[Track.PARENT_UUID][0]) if Track.PARENT_UUID in track else ()
        return *above, track[Track.NAME][0].decode()  # type: ignore[union-attr]

    def of(self, kind: Type) -> list[tuple[Any, dict[int, list[Any]]]]:
        return [(time, event) for time, event in self.events if event[Event.TYPE] == [kind]]


@pytest.fixture
def written(tmp_path: Path) -> File:
    assert write(tmp_path / "t.pftrace", sample(), {"command": "ring.py", "ranks": 2}) == 7
    return File(tmp_path / "t.pftrace")


def test_tracks_lie_in_tracks(written: File) -> None:
    assert {written.path(uuid) for uuid in written.tracks} == {
        ("run",), ("ranks",), ("ranks", "rank 0"), ("ranks", "rank 0", "MPI"), ("ranks", "rank 1"),
        ("ranks", "rank 1", "MPI"), ("NICs",), ("NICs", "NIC 0"), ("NICs", "NIC 0", "LBUS in use"),
    }  # fmt: skip


def test_slices_begin_and_end_on_their_tracks(written: File) -> None:
    begun = [
        (
            time,
            written.path(event[Event.TRACK_UUID][0])[-2:],
            written.texts[Interned.EVENT_NAMES, event[Event.NAME_IID][0]],
        )
        for time, event in written.of(Type.BEGIN)
    ]
    assert begun == [(0, ("run",), "run"), (1000, ("rank 0", "MPI"), "MPI_Send"), (0, ("rank 1", "MPI"), "MPI_Recv")]
    assert [time for time, _ in written.of(Type.END)] == [9000, 3000, 9000]


def test_arguments_are_exact_and_tell_of_the_run(written: File) -> None:
    told = []
    for _, event in written.of(Type.BEGIN):
        notes = [members(note) for note in event[Event.DEBUG_ANNOTATIONS]]
        told.append(
            {
                written.texts[Interned.ANNOTATION_NAMES, note[1][0]]: note.get(4, note.get(6))[0]  # type: ignore[index]
                for note in notes
            }
        )
    assert told == [
        {"command": b"ring.py", "ranks": 2},
        {"peer": 1, "message": 7, "begin (ps)": 1_000_001, "length (ps)": 1_999_999},
        {},
    ]


def test_an_arrow_begins_at_one_slice_and_ends_at_another(written: File) -> None:
    flows = [(event[Event.FLOW_IDS], event[Event.TERMINATING_FLOW_IDS]) for _, event in written.of(Type.BEGIN)]
    assert flows == [([], []), ([1], []), ([], [1])]


def test_values_are_a_counter(written: File) -> None:
    assert [(time, event[Event.COUNTER_VALUE][0]) for time, event in written.of(Type.COUNTER)] == [
        (0, 10),
        (5, 100),
        (9, 0),
    ]
    (unit,) = [members(track[Track.COUNTER][0]) for track in written.tracks.values() if Track.COUNTER in track]  # type: ignore[arg-type]
    assert unit[6] == [b"% of slots"]


def test_time_begins_at_zero() -> None:
    timeline = Timeline(zero=2_000_000)
    lane = timeline.lane("NICs", "NIC 0", "processor")
    timeline.slice(lane, PROCESSOR, "boot", 0, 1_999_999)
    timeline.slice(lane, PROCESSOR, "main", 1_000_000, 5_000_000)
    timeline.values(lane, "words", [0, 1_000_000, 3_000_000], [1, 2, 3])
    assert [(one.name, one.begin, one.end) for one in lane.slices] == [("main", 0, 3_000_000)]
    assert lane.values is not None
    assert (lane.values.times, lane.values.levels) == ([0, 1_000_000], [2, 3])


def test_lanes_are_made_once_and_only_those_that_hold_something_stay() -> None:
    timeline = Timeline(zero=10)
    assert timeline.lane("NICs", "NIC 0", "x") is timeline.lane("NICs", "NIC 0", "x")
    timeline.slice(timeline.lane("NICs", "NIC 1", "y"), HOST, "before", 0, 5)
    timeline.slice(timeline.lane("ranks", "rank 0", "z"), HOST, "after", 10, 15)
    timeline.arrow("from before", timeline.lane("NICs", "NIC 1", "y"), 2, timeline.lane("ranks", "rank 0", "z"), 12)
    timeline.drop_empty()
    assert timeline.arrows == []
    assert [lane.path for lane in timeline.lanes] == [("ranks",), ("ranks", "rank 0"), ("ranks", "rank 0", "z")]


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 1 << 40, (1 << 64) - 1])
def test_numbers_are_read_as_they_were_written(number: int) -> None:
    assert members(perfetto.message([(5, number), (6, "text")])) == {5: [number], 6: [b"text"]}


def test_unwritable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no_such/t\.pftrace"):
        write(tmp_path / "no_such" / "t.pftrace", sample(), {})
