"""A traced run of `t3d`: its puts, slots and protocols by name; puts by hand."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from lanai_firmware.vocabulary import Part
from lanai_hdl.remote.packets import Op
from lanai_host.abi.observe import MODES
from lanai_host.device import SendMode
from lanai_host.stacks.t3d.heap import HEADER, LONG, REPLY, SHORT, HeapLayout, T3dOptions
from lanai_host.stacks.t3d.stack import SHELL_VOCABULARY, Type, heap_plan
from lanai_host.stacks.t3d.windows import name_of
from lanai_sim.job.data import Buffers
from lanai_sim.machine.machine import Machine
from lanai_sim.report.activity import Activity
from lanai_sim.report.messages import MessageBook, protocol_name
from lanai_sim.trace import Trace
from lanai_sim.trace.commands import FollowPlaces
from lanai_sim.trace.requests import Book, FollowPuts
from lanai_sim.trace.requests import Request as Request_places
from lanai_sim.trace.schema import MESSAGES, PACKETS, Engine, Protocol, State

from .test_traced_run import exact, launch

SIZES = (4, 1000, 3000)
PROGRAM = """
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
for size in ({sizes}):
    data = memoryview(mmap.mmap(-1, size))
    if world.rank == 0:
        world.Send(data, dest=peer)
        world.Recv(data, source=peer)
    else:
        world.Recv(data, source=peer)
        world.Ssend(data, dest=peer)
"""


def traced(folder, *sizes, **options):
    path = folder / "t"
    result = launch(PROGRAM.format(sizes="".join(f"{size}, " for size in sizes)), path, "t3d", **options)
    return result, Trace.open(path)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    result, trace = traced(tmp_path_factory.mktemp("trace"), *SIZES)
    assert (result.code, result.report) == (0, "")
    return trace


def test_all_time_is_told(trace):
    assert trace.complete
    exact(trace)


def test_protocols_have_names(trace):
    users = trace.messages[np.isin(trace.messages["bytes"], SIZES)]
    assert [(int(row["bytes"]), protocol_name(row)) for row in users[users["source"] == 0]] == [
        (4, "short"), (1000, "short"), (3000, "long"),
    ]  # fmt: skip
    assert [(int(row["bytes"]), protocol_name(row)) for row in users[users["source"] == 1]] == [
        (4, "short synchronous"), (1000, "short synchronous"), (3000, "long synchronous"),
    ]  # fmt: skip


@pytest.mark.by_hand
def test_messages_by_the_shell_have_the_same_names(tmp_path, trace):
    result, shell = traced(tmp_path, *SIZES, machine=Machine("t3d_shell"))
    assert (result.code, result.report) == (0, "")
    exact(shell)
    assert [protocol_name(row) for row in shell.messages] == [protocol_name(row) for row in trace.messages]
    messages, packets = shell.messages, shell.packets
    assert (shell.picoseconds(messages["left"]) > messages["posted"]).all()
    assert (messages["completed"] > shell.picoseconds(messages["arrived"])).all()
    for number in messages["id"][messages["bytes"] == 3000]:
        assert (packets["message"] == number).sum() > 3000 // 32, "a line a packet"
    for one in MessageBook(Activity(shell)).all():
        assert sum(one.split.values()) == one.total


def test_each_put_has_a_type_and_a_message(trace):
    packets, messages = trace.packets, trace.messages
    kinds = Counter(Type(int(kind)).name for kind in packets["kind"])
    assert kinds["LONG"] == kinds["REPLY"] == kinds["ARRIVED"] == 2
    assert kinds["FREED"] == kinds["SHORT"] + kinds["LONG"] == len(messages)
    matched = packets[(packets["message"] < 0) & (packets["kind"] == Type.BYTES)]
    assert len(matched) == 3, "each synchronous send is told that its message has met a receive"
    assert (packets["message"][packets["kind"] != Type.BYTES] >= 0).all()
    assert (trace.picoseconds(messages["left"]) > messages["posted"]).all()
    assert (messages["arrived"] > messages["left"]).all()
    assert (messages["completed"] > trace.picoseconds(messages["arrived"])).all()


def test_bytes_of_a_long_message_are_its_own(trace):
    messages = trace.messages
    for number in messages["id"][messages["bytes"] == 3000]:
        mine = trace.packets[(trace.packets["message"] == number) & (trace.packets["kind"] == Type.BYTES)]
        assert (mine["bytes"] - 12).sum() == 3000


def test_the_nics_work_has_its_cause(trace):
    dma, processor = trace.dma, trace.processor
    assert (dma["message"][dma["engine"] == Engine.HOST_READ] >= 0).all()
    mine = processor[(processor["state"] == State.RUN) & (trace.picoseconds(processor["begin"]) > trace.started)]
    length = mine["end"] - mine["begin"]
    assert length[mine["message"] >= 0].sum() > 0.6 * length.sum()


def test_a_message_is_booked_from_end_to_end(trace):
    booked = list(MessageBook(Activity(trace)).all())
    assert len(booked) == len(trace.messages)
    for one in booked:
        assert sum(one.split.values()) == one.total


@pytest.mark.slow
def test_tracing_changes_no_cycle_and_several_replies_are_told_apart(tmp_path):
    """With buffers that lie alike: a traced rank's heap holds a few objects more."""
    sizes = (4, 3000, 600_000)
    plain = launch(PROGRAM.format(sizes="".join(f"{size}, " for size in sizes)), device="t3d", buffers=Buffers.PAGE)
    result, trace = traced(tmp_path, *sizes, buffers=Buffers.PAGE)
    assert result.clocks == plain.clocks
    packets, messages = trace.packets, trace.messages
    for number in messages["id"][messages["bytes"] == 600_000]:
        mine = packets[packets["message"] == number]
        assert (mine["bytes"][mine["kind"] == Type.BYTES] - 12).sum() == 600_000
        assert (mine["kind"] == Type.REPLY).sum() == (mine["kind"] == Type.ARRIVED).sum() > 1


# The message that each put by an adapter is part of, with writes made by hand.

LAYOUT_PLACES = HeapLayout(2, T3dOptions())
HEAP, WINDOW = 0, 3  # exposures


class WritesPlaces:
    """The writes of two ranks; messages of these sizes go from rank 0 to rank 1."""

    def __init__(self, *sizes):
        self.messages = np.zeros(len(sizes), MESSAGES)
        self.messages["id"] = self.messages["sequence"] = range(len(sizes))
        self.messages["bytes"], self.messages["target"], self.messages["left"] = sizes, 1, -1
        self.packets = np.zeros(100, PACKETS)
        self.packets["message"], self.packets["head"] = -1, range(100)
        self.packets["arrival_tail"] = range(1, 101)
        requests = np.array([(MODES[SendMode.STANDARD],)], [("mode", "u1")])
        puts = FollowPuts(SimpleNamespace(stored=lambda kind: requests), self.messages)
        plans = [heap_plan(LAYOUT_PLACES)] * 2
        self.follow = FollowPlaces(
            SHELL_VOCABULARY.messages, Book(self.messages, self.packets), puts, self.packets, plans
        )
        self.rows = 0

    def write(self, offset, length, *data, source=0, exposure=HEAP, op=Op.WRITE):
        target = 1 - source
        self.packets["source"][self.rows], self.packets["to_rank"][self.rows] = source, target
        self.follow.run([Request_places(self.rows, op, (source, target), target, exposure, 0, offset, length, data)])
        self.rows += 1

    def freed(self):
        self.write(LAYOUT_PLACES.flag(1), 4, 0, source=1)

    @property
    def linked(self):
        return self.packets["message"][: self.rows].tolist()


def test_the_lines_of_a_short_message():
    writes = WritesPlaces(8, 0)
    header = LAYOUT_PLACES.header(0)
    writes.write(header - 8, 20, LONG, LONG, SHORT)  # data that look like a mode
    writes.write(header + 12, 20, 8, 0, 0)
    writes.freed()
    assert writes.linked == [0, 0, 0]
    assert Protocol(writes.messages["protocol"][0]) is Protocol.SHORT
    assert (writes.messages["left"][0], writes.messages["arrived"][0]) == (0, 2)  # the flag counts to neither


def test_a_long_message_whose_header_takes_two_lines():
    writes = WritesPlaces(100, 4)
    header, reply = LAYOUT_PLACES.header(0), LAYOUT_PLACES.reply(0) + LAYOUT_PLACES.reply_size - REPLY.size - 4
    writes.write(header, 12, LONG, 0, 0)
    writes.write(header + 12, 20, 100, 0, 0)
    writes.write(reply, 12, name_of(WINDOW, 16), 1, 100, source=1)
    writes.write(reply + 12, 12, 0, 0, 1, source=1)
    writes.freed()
    for at in range(16, 116, 50):
        writes.write(at, 50, exposure=WINDOW)
    writes.write(LAYOUT_PLACES.arrival(0), 4, 1)
    writes.write(header - 4, HEADER.size + 4, 7, SHORT, 0)
    assert writes.linked == [0] * 8 + [1]
    assert [Protocol(one) for one in writes.messages["protocol"]] == [Protocol.LONG, Protocol.SHORT]


def test_other_requests_and_the_rest_of_the_heap_belong_to_no_message():
    writes = WritesPlaces(4)
    writes.write(LAYOUT_PLACES.header(0), HEADER.size, SHORT, op=Op.READ)
    writes.write(LAYOUT_PLACES.nothing, 4, 1)
    writes.write(0, 4, 1, exposure=WINDOW)  # tells a synchronous sender of the match
    assert writes.linked == [-1] * 3


def test_a_header_s_first_line_tells_that_the_message_is_long():
    plan = heap_plan(LAYOUT_PLACES)
    seen = SHELL_VOCABULARY.messages.see((LONG, 0, 0), HEAP, LAYOUT_PLACES.header(1), 12, 1, plan)
    assert (seen.part, seen.announces) == (Part.REST, True)
