"""Room in use over time: what each system's packets and hosts tell of it, against what a program must take."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.vocabulary import SeenFragment
from lanai_host.stacks.bip.attachment import BipOptions
from lanai_host.stacks.ccu.stack import CcuOptions
from lanai_host.stacks.mbcf.layout import MbcfOptions
from lanai_host.stacks.sci.layout import SciOptions
from lanai_sim.report.timeline import Values
from lanai_sim.report.tracks import timeline
from lanai_sim.trace import Trace, channels
from lanai_sim.trace.schema import MESSAGES, PACKETS, Fault, Protocol
from openlanai import Job

# The packets of daemons and their messages: parts, packets for several nodes, packets sent again.

NODES = [[0, 1], [2], [3]]  # the ranks of each


class Run:
    """Packets of which `see` knows the meaning by their first word."""

    def __init__(self):
        self.seen, self.rows = [], []

    def packet(self, target, targets, rank=0, begins=False, ends=False, envelope=None, head=0, tail=0):
        """One that leaves node 0; `target` -1: for several nodes. `head` -1: it only arrives."""
        self.seen.append(SeenFragment(0, 1, tuple(targets), rank, begins, ends, envelope))
        fault = Fault.NONE if target >= 0 and head >= 0 else Fault.LOST if head >= 0 else Fault.EXTRA
        self.rows.append((target, head, tail, fault))

    def answer(self, source, expects, head, tail):
        """An acknowledgement that comes to node 0."""
        self.seen.append(SeenFragment(source, 2, expects=expects))
        self.rows.append((0, head, tail, Fault.NONE))

    def linked(self, messages):
        """The packets and messages; each of these: source, target, context, tag."""
        table, packets = np.zeros(len(messages), MESSAGES), np.zeros(len(self.rows), PACKETS)
        table["id"], table["left"], table["arrived"] = range(len(messages)), -1, -1
        for index, (source, target, context, tag) in enumerate(messages):
            table[index]["source"], table[index]["target"] = source, target
            table[index]["context"], table[index]["tag"] = context, tag
        packets["message"] = packets["to_rank"] = -1
        for index, (target, head, tail, fault) in enumerate(self.rows):
            row = packets[index]
            row["target"], row["head"], row["arrival_tail"], row["fault"] = target, head, tail, fault
        headers = np.array([[self.seen.index(one)] for one in self.seen])
        vocabulary = SimpleNamespace(see=lambda words: self.seen[words[0]])
        channels.attribute_fragments(SimpleNamespace(nodes=NODES), vocabulary, table, packets, headers)
        return packets, table


def test_parts_follow_each_other_and_ranks_do_not_mix():
    run = Run()
    run.packet(1, [(1, 1, 0)], 0, begins=True, envelope=(0, 5), head=10, tail=20)
    run.packet(1, [(1, 1, 1)], 1, begins=True, ends=True, envelope=(0, 5), head=30, tail=40)
    run.packet(1, [(1, 1, 2)], 0, ends=True, head=50, tail=60)
    packets, messages = run.linked([(0, 2, 0, 5), (1, 2, 0, 5)])
    assert packets["message"].tolist() == [0, 1, 0]
    assert packets["from_rank"].tolist() == [0, 1, 0]
    assert packets["to_rank"].tolist() == [2, 2, 2]
    assert messages["left"].tolist() == [10, 30]
    assert messages["arrived"].tolist() == [60, 40]
    assert set(messages["protocol"].tolist()) == {Protocol.PACKETS}


def test_what_is_sent_again_belongs_to_its_message():
    run = Run()
    run.packet(1, [(1, 1, 65535)], begins=True, ends=True, envelope=(0, 1), head=10, tail=-1)
    run.packet(1, [(1, 1, 0)], begins=True, ends=True, envelope=(0, 2), head=20, tail=30)
    run.packet(1, [(1, 1, 65535)], begins=True, ends=True, envelope=(0, 1), head=40, tail=50)
    packets, messages = run.linked([(0, 2, 0, 1), (0, 2, 0, 2)])
    assert packets["message"].tolist() == [0, 1, 0]
    assert messages["arrived"].tolist() == [50, 30]


def test_a_packet_for_several_nodes_arrives_at_each():
    run = Run()
    targets = [(1, 1, 0), (2, 1, 0)]
    for target, head, tail in ((-1, 10, -1), (1, -1, 25), (2, -1, 26)):
        run.packet(target, targets, begins=True, ends=True, envelope=(0, 1), head=head, tail=tail)
    packets, messages = run.linked([(0, 2, 0, 1), (0, 3, 0, 1)])
    assert packets["message"].tolist()[1:] == [0, 1]
    assert packets["to_rank"].tolist()[1:] == [2, 3]
    assert set(packets["fault"].tolist()) == {Fault.NONE}
    assert messages["arrived"].tolist() == [25, 26]


def test_an_answer_belongs_to_no_message():
    run = Run()
    run.packet(1, [(1, 1, 0)], begins=True, ends=True, head=10, tail=20)
    packets, _ = run.linked([(0, 2, 0, 1)])
    assert packets["message"].tolist() == [-1]


def test_numbers_that_have_left_and_are_not_acknowledged_are_in_the_window():
    """An older acknowledgement that comes late, and one of another run, give nothing back."""
    run = Run()
    run.packet(1, [(1, 1, 65534)], head=10, tail=20)
    run.packet(1, [(1, 1, 65535)], head=11, tail=-1)
    run.packet(-1, [(1, 1, 0), (2, 1, 0)], head=12, tail=-1)
    run.packet(1, [(1, 1, 65535)], head=30, tail=31)
    for source, expects in ((1, 65535), (2, 1), (1, 1), (1, 0), (1, 999), (3, 1)):
        run.answer(source, expects, 40, 41)
    packets, _ = run.linked([])
    assert packets["paid"].tolist() == [1, 1, 2, 0, 0, 0, 0, 0, 0, 0]
    assert packets["given"].tolist() == [0, 0, 0, 0, 1, 1, 2, 0, 0, 0]


def test_an_acknowledgement_that_did_not_arrive_gives_nothing_back():
    run = Run()
    run.packet(1, [(1, 1, 0)], head=10, tail=20)
    run.answer(1, 1, 30, -1)
    packets, _ = run.linked([])
    assert packets["given"].tolist() == [0, 0]


# Rank 0 sends COUNT messages of SIZE bytes, while rank 1 is away. Buffers lie at the start of a page.
FLOOD = """
import mmap, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
count, size = map(int, sys.argv[1:])
data = memoryview(mmap.mmap(-1, size))
if world.rank == 0:
    MPI.Request.Waitall([world.Isend(data, 1) for _ in range(count)])
elif world.rank == 1:
    time.sleep(0.002)
    for _ in range(count):
        world.Recv(data, 0)
world.Barrier()
time.sleep(0.002)
"""
RECORD = 8 + 24 + 4  # bytes of a message of 4 bytes in a FIFO of mbcf: the record's head, the message's, the bytes


def flood(device, count, size, ranks=2, **job):
    return Job((sys.executable, "-c", FLOOD, str(count), str(size)), ranks, device, snapshot=True).but(**job)


def run(tmp_path, device, count, size, ranks=2, **job):
    """Trace a flood."""
    flood(device, count, size, ranks, **job).run(trace=tmp_path / "t").check()
    trace = Trace.open(tmp_path / "t")
    assert trace.complete
    return trace


def curve(trace, *path) -> Values:
    (found,) = [lane.values for lane in timeline(trace).lanes if lane.path[1:] == path]
    assert found is not None
    return found


def extremes(values):
    """Return the unit, and the largest, the smallest and the last level."""
    return values.unit, max(values.levels), min(values.levels), values.levels[-1]


def test_bip_has_as_many_packets_at_a_peer_as_it_has_credit(tmp_path):
    trace = run(tmp_path, "bip", 9, 4, options=BipOptions(credits=4))
    unit, most, least, last = extremes(curve(trace, "rank 0", "credit in use"))
    assert (unit, most, least) == ("packets", 4, 0)
    assert last < 2, "half of the credit goes back by a packet of its own"


@pytest.fixture(scope="module")
def slots(tmp_path_factory):
    return run(tmp_path_factory.mktemp("slots"), "sci", 9, 2048, options=SciOptions(eager_slots=3))


def test_sci_takes_all_slots_and_has_them_back(slots):
    assert extremes(curve(slots, "rank 0", "credit in use")) == ("slots", 3, 0, 0)


def test_sci_fills_the_ring_and_no_more(tmp_path):
    trace = run(tmp_path, "sci", 20, 4, options=SciOptions(ring=8))
    assert extremes(curve(trace, "rank 0", "ring in use")) == ("packets", 8, 0, 0)


def test_sci_has_chunk_buffers_in_use_for_long_messages(tmp_path):
    trace = run(tmp_path, "sci", 2, 1 << 16)
    unit, most, least, last = extremes(curve(trace, "rank 0", "chunk buffers in use"))
    assert (unit, least, last) == ("buffers", 0, 0)
    assert 2 <= most <= 3


def test_ranks_of_a_node_have_curves_without_packets(tmp_path):
    trace = run(tmp_path, "sci", 9, 2048, ranks_per_node=2, options=SciOptions(eager_slots=3))
    assert extremes(curve(trace, "rank 0", "credit in use")) == ("slots", 3, 0, 0)
    assert not len(trace.packets)


@pytest.mark.ci  # builds a NIC with an adapter for traces
def test_mbcf_has_the_records_in_its_fifo_that_nobody_has_taken(tmp_path):
    """All messages come while their receiver is away."""
    trace = run(tmp_path, "mbcf", 20, 4, options=MbcfOptions(requests=False))
    assert extremes(curve(trace, "rank 1", "FIFO in use")) == ("bytes", 20 * RECORD, 0, 0)


def test_a_fifo_of_mbcf_is_full_at_its_last_byte(tmp_path):
    """A record of 1000 bytes takes 1032 with its heads. Three fit into a page of 4096, and the rest of it is lost."""
    trace = run(tmp_path, "mbcf", 20, 1000, options=MbcfOptions(requests=False, fifo_pages=1, record=1024))
    unit, most, least, last = extremes(curve(trace, "rank 1", "FIFO in use"))
    assert (unit, most, least, last) == ("bytes", 4096, 0, 0)


def test_a_record_that_was_sent_again_is_in_its_fifo_when_it_was_taken(tmp_path):
    """Behind a record that is lost, others arrive and are not taken before it comes again."""
    options = MbcfOptions(requests=False, fifo_pages=1, record=1024)
    trace = run(tmp_path, "mbcf", 2, 1 << 15, options=options, faults=("drop * rate=0.05 seed=2",))
    assert (trace.packets["fault"] == Fault.LOST).any()
    unit, most, least, last = extremes(curve(trace, "rank 1", "FIFO in use"))
    assert (unit, least, last) == ("bytes", 0, 0)
    assert 1032 <= most <= 4096


def before_finalize(trace, values):
    """Return the level when rank 0 has slept after its last message."""
    (call,) = [call for call in trace.calls if trace.name(call["name"]) == "MPI_Finalize" and call["rank"] == 0]
    return values.levels[np.searchsorted(values.times, call["begin"] - trace.started) - 1]


def test_ccu_has_a_window_of_packets_between_two_nodes(tmp_path):
    """Packets are acknowledged by the timer alone, so the window fills."""
    trace = run(tmp_path, "ccu", 20, 4, options=CcuOptions(window=5, ack_every=100))
    found = curve(trace, "NIC 0", "window in use")
    assert extremes(found)[:3] == ("packets", 5, 0)
    assert before_finalize(trace, found) == 0


def test_packets_of_ccu_that_are_sent_again_are_in_its_window_once(tmp_path):
    options = CcuOptions(window=5, ack_every=100, timeout=500)
    trace = run(tmp_path, "ccu", 20, 4, options=options, faults=("drop * rate=0.1 seed=3",))
    assert (trace.packets["fault"] == Fault.LOST).any()
    found = curve(trace, "NIC 0", "window in use")
    assert extremes(found)[:3] == ("packets", 5, 0)
    assert before_finalize(trace, found) == 0


@pytest.mark.by_hand  # builds another one
def test_a_shell_has_one_slot_at_each_peer(tmp_path):
    trace = run(tmp_path, "t3d", 9, 4, nic="t3d_shell")
    assert extremes(curve(trace, "rank 0", "credit in use")) == ("slots", 1, 0, 0)


def test_packets_of_mpi_np_that_are_sent_again_pay_once(tmp_path):
    options = McpConfig(messages=4, ack_slots=1, unpaid_limit=0, recovery=1)
    trace = run(tmp_path, "mpi-np", 20, 4, options=options, faults=("drop * rate=0.1 seed=1",))
    assert (trace.packets["fault"] == Fault.LOST).any()
    assert extremes(curve(trace, "rank 0", "credit in use")) == ("slots", 4, 0, 0)
    mine = trace.messages[trace.messages["source"] == 0][:20]
    assert set(mine["protocol"]) == {Protocol.EAGER}
    assert (trace.picoseconds(mine["arrived"]) <= mine["completed"]).all()


@pytest.mark.ci
@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_what_hosts_note_takes_no_time(tmp_path, device):
    made = flood(device, 3, 3000)
    assert made.run(trace=tmp_path / "t").check().sim_time == made.run().check().sim_time


@pytest.mark.ci
@pytest.mark.parametrize("device", ["mpi-np", "t3d", "bip", "sci"])
def test_a_room_is_of_two_ranks(tmp_path, device):
    """Nobody takes room that it gives back before, at any peer."""
    trace = run(tmp_path, device, 5, 1000, ranks=3)
    assert len(trace.room)
    for room in range(len(trace.rooms)):
        for user in range(3):
            for owner in range(3):
                rows = trace.room[(trace.room["room"] == room) & (trace.room["rank"] == user)]
                levels = np.cumsum(rows[rows["peer"] == owner]["change"])
                assert (levels >= 0).all()
                assert not len(levels) or user != owner


def test_as_a_frame(slots):
    frame = slots.frame("room", "pandas")
    mine = frame[(frame["room"] == "credit in use") & (frame["rank"] == 0)]
    assert mine["change"].tolist()[:3] == [1, 1, 1]
    assert mine["change"].sum() == 0
    assert set(mine["unit"]) == {"slots"}
    assert mine["time_us"].is_monotonic_increasing
    assert set(mine["peer"]) == {1}


def test_a_trace_of_before_has_no_rows_of_hosts(tmp_path):
    """Records of mbcf alone would show a FIFO that only fills."""
    trace = run(tmp_path, "mbcf", 3, 4, options=MbcfOptions(requests=False))
    for plan in trace.meta["plans"]:
        del plan["payload"]
    trace._parts[b"ROOM"].clear()
    assert not len(trace.room)
    assert not [lane for lane in timeline(trace).lanes if lane.name == "FIFO in use"]


@pytest.mark.parametrize("device", ["ccu", "sci"])
def test_messages_within_a_node_say_so(tmp_path, device):
    trace = run(tmp_path, device, 3, 100, ranks=4, ranks_per_node=2)
    found = trace.frame("messages", "pandas")
    here = found["source"] // 2 == found["target"] // 2
    assert set(found[here]["protocol"]) == {"within node"}
    assert "within node" not in set(found[~here]["protocol"])
    assert "unknown" not in set(found["protocol"])
