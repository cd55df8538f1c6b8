"""Traced runs of devices on the remote-memory adapter: its packets by kind and rank, and the same
results as without a trace."""

import re
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import warm

from lanai_firmware.programs.bip.layout import Type
from lanai_hdl.remote.packets import MARK, REQUEST_WORDS, Op, RequestWord, SizeWord, TargetWord, word
from lanai_hdl.remote.tables import EXPOSURES
from lanai_host.adapter.trace import VOCABULARY
from lanai_host.stacks.mbcf.layout import HEAD
from lanai_sim.engines.declared import HEADER_WORDS
from lanai_sim.report.activity import Activity
from lanai_sim.report.messages import MessageBook
from lanai_sim.trace import Trace, commands
from lanai_sim.trace.schema import BY_HOST, PACKETS, Fault, Protocol, State

from .test_traced_run import exact, launch

PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
for size in (4, 3000, 20000):
    data = bytearray(size)
    if world.rank == 0:
        world.Send(data, 1)
        world.Recv(data, 1)
    elif world.rank == 1:
        world.Recv(data, 0)
        world.Send(data, 0)
world.Barrier()
"""
POSTED = """
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
going, coming = ([memoryview(mmap.mmap(-1, size or 1))[:size] for size in SIZES] for _ in range(2))
receives = [world.Irecv(one, peer, TAG) for one in coming]
world.Barrier()
world.Barrier()
MPI.Request.Waitall(receives + [world.Isend(one, peer, TAG) for one in going])
world.Barrier()
if world.rank == 0:
    MPI.Request.Waitall([world.Isend(going[-1], 1, TAG) for _ in range(8)])
else:
    begin = MPI.Wtime()
    while MPI.Wtime() < begin + 1e-3:
        pass
    for _ in range(8):
        world.Recv(coming[-1], 0, TAG)
"""
SIZES = (0, 4, 65, 1000, 3000, 20000)
TAG = 77  # which barriers have not
PROTOCOLS = {
    "mbcf": {Protocol.REMOTE_WRITE: 2 * len(SIZES), Protocol.FIFO: 8},
    "sci": {Protocol.INLINE: 4, Protocol.SLOT: 6, Protocol.CHUNKS: 2 + 8},
}
FAULTS = ("--fault", "drop nic0 rate=0.03", "--fault", "duplicate nic1 rate=0.03", "--fault", "reorder nic0 rate=0.03")
TIME = re.compile(r"took (\S+ \S+) of simulated time")


def test_ranks_follow_from_nodes_and_processes():
    """Node 0 has one rank, node 1 two. A reply names no process, and no owner."""
    packets = np.zeros(4, PACKETS)
    packets["target"] = [1, 0, 0, -1]
    headers = np.zeros((4, HEADER_WORDS), np.uint32)
    for row, (op, source, process) in enumerate([(Op.WRITE, 0, 0), (Op.APPEND, 1, 1), (Op.ACK, 1, 0), (Op.ACK, 0, 0)]):
        headers[row, 0] = word(RequestWord, source=source, op=op, mark=MARK)
        headers[row, 1] = word(TargetWord, exposure=EXPOSURES if op == Op.WRITE else 0)
        headers[row, 2] = word(SizeWord, node=source, process=process)
    commands.attribute(SimpleNamespace(nodes=[[0], [1, 2]]), VOCABULARY, None, packets, headers)
    assert packets["kind"].tolist() == [Op.WRITE, Op.APPEND, Op.ACK, Op.ACK]
    assert packets["from_rank"].tolist() == [0, 2, -1, 0]
    assert packets["to_rank"].tolist() == [2, 0, 0, -1]


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("device", ["mbcf", "sci"])
def test_a_traced_run(device, tmp_path):
    program, path = tmp_path / "program.py", tmp_path / "t"
    program.write_text(PROGRAM)
    plain, traced = (
        warm.lanai("run", "-n", 2, "--device", device, "--buffers", "page", *more, sys.executable, program, timeout=900)
        for more in ((), ("--trace", path))
    )
    assert (plain.returncode, traced.returncode) == (0, 0), traced.stderr
    assert TIME.search(plain.stderr)[1] == TIME.search(traced.stderr)[1]
    trace = Trace.open(path)
    assert trace.complete
    exact(trace)
    packets, kinds = trace.packets, Counter(VOCABULARY.type_name(int(kind)) for kind in trace.packets["kind"])
    assert (packets["fault"] == Fault.NONE).all()
    assert kinds["WRITE"] > 5
    assert kinds["ACK"] == kinds["WRITE"] + kinds["APPEND"] + kinds["RETRY"]
    assert (packets["to_rank"] == packets["target"]).all()
    assert (packets["from_rank"] == packets["source"]).all()
    assert (packets["arrival_tail"] > packets["head"]).all()
    assert len(trace.messages) >= 6
    assert (trace.messages["completed"] >= trace.messages["posted"]).all()
    by_host = trace.hostbus[trace.hostbus["master"] == BY_HOST]
    assert (by_host["call"] >= 0).any()
    assert (trace.processor["state"] == State.HELD).all()


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("device", PROTOCOLS)
@pytest.mark.parametrize("more", [(), FAULTS])
def test_messages_are_linked_to_the_packets_that_carry_their_bytes(device, more, tmp_path):
    """To receives that wait, and to a receiver that computes, whose queues have no space for all."""
    program, path = tmp_path / "program.py", tmp_path / "t"
    program.write_text(f"SIZES, TAG = {SIZES}, {TAG}\n{POSTED}")
    command = ("run", "-n", 2, "--device", device, *more, "--trace", path, sys.executable, program)
    run = warm.lanai(*command, timeout=900)
    assert run.returncode == 0, run.stderr
    trace = Trace.open(path)
    packets = trace.packets
    messages = trace.messages[trace.messages["tag"] == TAG]
    assert Counter(messages["protocol"].tolist()) == PROTOCOLS[device]
    assert (packets["kind"] == Op.RETRY).any() == (device == "mbcf")
    for message in messages:
        mine = packets[packets["message"] == message["id"]]
        carried = int(mine["bytes"].sum()) - 4 * REQUEST_WORDS * len(mine)
        assert carried >= message["bytes"]
        if not more and message["protocol"] == Protocol.REMOTE_WRITE:
            assert carried - HEAD.size < message["bytes"] + 4 * len(mine), "more than what fills words"
        assert set(mine["from_rank"]) >= {message["source"]}
        assert 0 <= message["left"] < message["arrived"]
    exact(trace)


# A traced run of `bip`: its packets by name, each with its message.


BIP_SIZES = (4, 200, 3000)
BIP_PROGRAM = f"""
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
for size in {BIP_SIZES}:
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
    result = launch(BIP_PROGRAM, path, "bip")
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
