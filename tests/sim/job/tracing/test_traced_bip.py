"""A traced run of `bip`: its packets by name, each with its message."""

from collections import Counter

import numpy as np
import pytest

from lanai_firmware.programs.bip.layout import Type
from lanai_sim.report.activity import Activity
from lanai_sim.report.messages import MessageBook
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import State

from .test_traced_run import exact, launch

SIZES = (4, 200, 3000)
PROGRAM = f"""
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
for size in {SIZES}:
    data = memoryview(mmap.mmap(-1, size))
    if world.rank == 0:
        world.Send(data, dest=peer)
        world.Recv(data, source=peer)
    else:
        world.Recv(data, source=peer)
        world.Ssend(data, dest=peer)
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "t"
    result = launch(PROGRAM, path, "bip")
    assert (result.code, result.report) == (0, "")
    return Trace.open(path)


def test_all_time_is_told(trace):
    assert trace.complete
    exact(trace)


def test_each_packet_has_a_type_and_a_message(trace):
    packets, messages = trace.packets, trace.messages
    kinds = Counter(Type(int(kind)).name for kind in packets["kind"])
    assert (kinds["ASK"], kinds["GRANT"], kinds["PART"], kinds["TAKEN"]) == (2, 2, 6, 2)
    assert kinds["EAGER"] + kinds["SYNC"] + kinds["ASK"] == len(messages)
    carrying = ~np.isin(packets["kind"], [Type.TAKEN, Type.CREDIT])
    assert (packets["message"][carrying] >= 0).all()
    assert (trace.picoseconds(messages["left"]) > messages["posted"]).all()
    assert (messages["arrived"] > messages["left"]).all()
    assert (messages["completed"] > trace.picoseconds(messages["arrived"])).all()


def test_bytes_of_a_long_message_are_its_own(trace):
    messages = trace.messages
    for number in messages["id"][messages["bytes"] == 3000]:
        mine = trace.packets[(trace.packets["message"] == number) & (trace.packets["kind"] == Type.PART)]
        assert (mine["bytes"] - 12).sum() == 3000


def test_the_nics_work_has_its_cause(trace):
    """Work for no message is turns that find nothing to do, and reports."""
    processor = trace.processor
    worked = set(processor["message"][processor["state"] == State.RUN])
    assert set(trace.messages["id"]) <= worked


def test_a_message_is_booked_from_end_to_end(trace):
    booked = list(MessageBook(Activity(trace)).all())
    assert len(booked) == len(trace.messages)
    for one in booked:
        assert sum(one.split.values()) == one.total
