"""A traced run of `t3d`: its puts, slots and protocols by name."""

from collections import Counter

import numpy as np
import pytest

from lanai_host.stacks.t3d.trace import Type
from lanai_sim.job.data import Buffers
from lanai_sim.machine.machine import Machine
from lanai_sim.report.activity import Activity
from lanai_sim.report.messages import MessageBook, protocol_name
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import Engine, State

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


@pytest.mark.ci
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
