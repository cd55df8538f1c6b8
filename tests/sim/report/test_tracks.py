"""The timeline file has what its viewers ask for."""

import struct
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import NicConfig
from lanai_hdl.csr.declare import Counter, EventBit, RegisterBlock
from lanai_hdl.errors import UserError
from lanai_sim.engines.gateware.block_signals import block_signals
from lanai_sim.report import perfetto
from lanai_sim.report.activity import HOST, PROCESSOR
from lanai_sim.report.perfetto import Event, Interned, TracePacket, Track, Type, write
from lanai_sim.report.rows import blocks
from lanai_sim.report.timeline import CALL, Slice, Thinned, Timeline, Values, thin, thin_values
from lanai_sim.report.tracks import timeline
from lanai_sim.trace import Trace, schema
from lanai_sim.trace import schema as s
from openlanai import Job

from .sample import NS, rows, sample


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field of a message: its number, and a number or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: int | bytes
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            (value,) = struct.unpack_from("<Q", data, at)
            at += 8
        else:
            assert key & 7 == 2
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size
        yield key >> 3, value


def members(data: bytes) -> dict[int, list[int | bytes]]:
    """All values of each field of a message."""
    found: dict[int, list[int | bytes]] = defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


# Numbers over time: queues, messages under way, shares in use.


def test_queues_and_shares_of_the_sample() -> None:
    found = {lane.path[1:]: lane.values for lane in timeline(sample()).lanes if lane.values is not None}
    assert found["rank 1", "receives posted"] == Values("receives", [80 * NS, 880 * NS], [1, 0])
    assert found["rank 0", "bytes under way"] == Values("bytes", [150 * NS, 880 * NS], [4, 0])
    assert found["NIC 0", "LBUS in use"] == Values("% of slots", [256 * NS, 768 * NS], [50, 0])
    link = found["NIC 0", "link out in use"]
    assert link is not None
    assert (link.unit, max(link.levels), link.levels[-1]) == ("% of time", 100, 0)
    assert abs(link.times[1] - 500 * NS) < 3 * NS


def test_what_never_happened_has_no_lane() -> None:
    names = {lane.path[1:] for lane in timeline(sample()).lanes if lane.values is not None}
    assert ("rank 0", "receives posted") not in names
    assert ("NIC 1", "link out in use") not in names
    assert ("rank 1", "messages without a receive") not in names


FLOOD = """
from mpi4py import MPI
import mmap
world = MPI.COMM_WORLD
data = memoryview(mmap.mmap(-1, 4096))[:4]
if world.rank == 0:
    sends = [world.Isend(data, 1, 0) for _ in range(20)]
    world.Send(data, 1, 1)
    MPI.Request.Waitall(sends)
else:
    world.Recv(data, 0, 1)
    for _ in range(20):
        world.Recv(data, 0, 0)
"""


@pytest.mark.parametrize(("unpaid", "most"), [(0, 4), (64, 5)])
def test_credit_in_use_comes_to_all_message_slots_and_goes_back(tmp_path: Path, unpaid: int, most: int) -> None:
    """More messages than slots. One may go without credit; the slot of one that is dropped comes back."""
    options = McpConfig(messages=4, ack_slots=1, unpaid_limit=unpaid)
    assert Job((sys.executable, "-c", FLOOD), 2, "mpi-np", options=options, trace=str(tmp_path / "t")).run().code == 0
    assert _credit(tmp_path / "t") == ("slots", most, 0, 0)


def test_credit_in_use_on_the_t3d_is_the_slot_of_each_pair(tmp_path: Path) -> None:
    assert Job((sys.executable, "-c", FLOOD), 2, "t3d", trace=str(tmp_path / "t")).run().code == 0
    assert _credit(tmp_path / "t") == ("slots", 1, 0, 0)


def _credit(path: Path) -> tuple[str, int, int, int]:
    """Return unit, largest, smallest and last level of what rank 0 has in use."""
    (found,) = [
        lane.values for lane in timeline(Trace.open(path)).lanes if lane.path[1:] == ("rank 0", "credit in use")
    ]
    assert found is not None
    return found.unit, max(found.levels), min(found.levels), found.levels[-1]


def test_systems_without_credit_have_no_lane_for_it(tmp_path: Path) -> None:
    assert Job((sys.executable, "-c", FLOOD), 2, "ideal", trace=str(tmp_path / "t")).run().code == 0
    assert not [lane for lane in timeline(Trace.open(tmp_path / "t")).lanes if lane.name == "credit in use"]


# Fewer slices and values, of every lane and of the whole time.


def test_a_long_timeline_keeps_every_lane_and_the_whole_time() -> None:
    """Ranks come first: cut by number, the links would have vanished."""
    long = [Slice(10 * n, 10 * n + 5 + n % 3, "x", HOST) for n in range(9000)]
    short, one = [Slice(50, 60, "y", HOST, 3)], [Slice(0, 90_000, "z", HOST)]
    made = thin([long, short, one], 1000)
    assert made[1:] == [Thinned(short), Thinned(one)]
    kept = made[0].slices
    assert 700 < len(kept) <= 998
    assert made[0].lost == 9000 - len(kept)
    assert 80 < made[0].window < 100
    times = [one.begin for one in kept]
    assert times == sorted(times)
    assert times[0] < 100
    assert times[-1] > 89_000
    assert all(one.end - one.begin == 7 for one in kept)  # the longest ones


def test_a_short_timeline_is_whole() -> None:
    lanes = [[Slice(0, 1, "x", HOST)], [Slice(0, 1, "y", HOST)]]
    assert thin(lanes, 2) == [Thinned(lane) for lane in lanes]


def test_values_keep_the_largest_of_each_window() -> None:
    values = Values("bytes", list(range(1000)), [n % 100 for n in range(1000)])
    made = thin_values(values, 10)
    assert len(made.times) <= 10
    assert set(made.levels) == {99}
    assert thin_values(values, 1000) == values


def sample_perfetto() -> Timeline:
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
    assert write(tmp_path / "t.pftrace", sample_perfetto(), {"command": "ring.py", "ranks": 2}) == 7
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
        write(tmp_path / "no_such" / "t.pftrace", sample_perfetto(), {})


# The signals of optional blocks of NICs in a trace.


SIGNALS = [["tally", "SHORT", "short packet"], ["tally", "LONG", "long packet"]]


def traced():
    """The ranks begin at slot 100: what happens before is boot."""
    trace = sample()
    trace.meta |= {"blocks": SIGNALS, "started": 100 * NS}
    happened = ((0, 0, 50), (0, 0, 150), (0, 0, 151), (0, 1, 300), (1, 0, 400))
    trace.__dict__["blocks"] = rows(s.BLOCKS, *({"node": n, "signal": i, "slot": at} for n, i, at in happened))
    return trace


def test_each_signal_of_each_nic_has_a_row():
    assert blocks(traced()) == [
        ("tally", "SHORT", 0, 2, 50 * NS, 51 * NS),
        ("tally", "SHORT", 1, 1, 300 * NS, 300 * NS),
        ("tally", "LONG", 0, 1, 200 * NS, 200 * NS),
    ]
    assert blocks(sample()) == []


def test_the_timeline_has_a_slice_for_each_slot():
    found = {lane.path: [(one.begin, one.end) for one in lane.slices] for lane in timeline(traced()).lanes}
    assert found["NICs", "NIC 0", "tally", "SHORT"] == [(50 * NS, 51 * NS), (51 * NS, 52 * NS)]
    assert found["NICs", "NIC 0", "tally", "LONG"] == [(200 * NS, 201 * NS)]
    assert found["NICs", "NIC 1", "tally", "SHORT"] == [(300 * NS, 301 * NS)]
    assert ("NICs", "NIC 1", "tally", "LONG") not in found


def test_signals_that_are_not_named_are_damage():
    about = {"ranks": 2, "nodes": [[0], [1]], "blocks": SIGNALS}
    good, bad = (rows(s.STORED[b"BLCK"], {"node": 1, "signal": signal, "slot": 5}) for signal in (1, 2))
    assert schema.rows(b"BLCK", good, about, 0, 0) == ""
    assert schema.rows(b"BLCK", bad, about, 0, 0) == "signal is 2 to 2"
    assert schema.meta({"ranks": 1, "ranks_per_node": 1, "slot_khz": 1, "nodes": [], "blocks": [["tally"]]})


class Many(BlockConfig):
    name = "many"
    declares = RegisterBlock(
        "Many", (), (EventBit("E", 12, ""),), tuple(Counter(f"C{n}", 4 * n, "") for n in range(64))
    )

    def build(self, config):
        raise AssertionError


def test_there_is_a_limit():
    config = NicConfig()
    object.__setattr__(config, "blocks", (Many(),))
    with pytest.raises(UserError, match="shows 64 events and counters of optional blocks; these NICs have 65"):
        block_signals(config)
