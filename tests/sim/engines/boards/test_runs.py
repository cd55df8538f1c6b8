"""MPI over two boards in simulation: phys, clocks of their own, switches, host lines, and programs that know nothing of
them."""

import sys

import pytest

from lanai_hdl.boards import BOARDS
from lanai_host.errors import UserError
from lanai_sim.engines.base import Layout
from lanai_sim.engines.boards.engine import BoardEngine
from lanai_sim.engines.boards.simulated import SimulatedBoards
from lanai_sim.engines.kinds.board import USUAL
from openlanai import Job

PROGRAM = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
rank, peer = world.rank, 1 - world.rank
for size in (0, 1, 1024, 65536):
    sent = (np.arange(size) * 7 + size).astype(np.uint8)
    came = np.zeros(size, np.uint8)
    if rank:
        world.Recv(came, peer, tag=3)
        world.Send(came, peer, tag=4)
    else:
        world.Send(sent, peer, tag=3)
        world.Recv(came, peer, tag=4)
    assert (came == sent).all(), size
token = world.sendrecv([rank], peer, source=peer)
assert token == [peer]
request = world.isend("to myself", rank, tag=5)
assert world.recv(source=rank, tag=5) == "to myself"
request.wait()
if rank:
    while not world.Iprobe(peer, tag=6):
        pass
    assert world.recv(source=peer, tag=6) == 6
else:
    world.send(6, peer, tag=6)
total = world.allreduce(np.arange(100) * (rank + 1))
assert (total == np.arange(100) * 3).all()
print(rank, "ok")
"""
ROUND = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
rank, after, before = world.rank, (world.rank + 1) % world.size, (world.rank - 1) % world.size
assert world.sendrecv([rank], after, source=before) == [before]
for size in (1, 1000, 20000):
    came = np.zeros(size, np.uint8)
    world.Sendrecv((np.arange(size) + rank).astype(np.uint8), after, recvbuf=came, source=before)
    assert (came == (np.arange(size) + before).astype(np.uint8)).all(), size
total = world.allreduce(np.arange(100) * (rank + 1))
assert (total == np.arange(100) * sum(range(world.size + 1))).all()
print(rank, "ok")
"""
STUCK = """
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    MPI.COMM_WORLD.recv(source=1)
"""


def job(program, **members):
    return Job((sys.executable, "-c", program), 2, "mpi-np", engine="board", capture=True).but(**members)


@pytest.mark.ci
def test_mpi_runs_over_two_boards():
    result = job(PROGRAM).run()
    assert (result.code, result.report) == (0, "")
    assert [one.stdout.strip() for one in result.outputs] == ["0 ok", "1 ok"]
    assert any("times are measured on the boards" in note for note in result.notes)


@pytest.mark.ci
def test_a_thin_firmware_runs_too_the_same_way_each_time():
    first, second = (job(PROGRAM.replace("65536", "4096"), device="bip").run() for _ in range(2))
    assert (first.code, first.report) == (0, "")
    assert first.clocks == second.clocks


@pytest.mark.ci(whole=True)  # each firmware
@pytest.mark.parametrize(("device", "boards"), [("bip", 3), ("mpi-np", 4)])
def test_more_boards_than_two_are_joined_by_one_that_is_a_switch(device, boards):
    result = job(ROUND, device=device, ranks=boards).run()
    assert (result.code, result.report) == (0, "")
    assert [one.stdout.strip() for one in result.outputs] == [f"{rank} ok" for rank in range(boards)]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("wires", "inverted", "said"),
    [((0, 3, 2, 1, 4), 0, "data 0 and data 2 are swapped"), ((0, 1, 2, 3, 4), 0b100, "data 1 is inverted")],
)
def test_a_cable_with_wrong_wires_names_them(wires, inverted, said):
    nic = BOARDS[USUAL].config
    pair = SimulatedBoards(nic)
    engine = BoardEngine(Layout(nic, 2, ()), pair)
    pair.rewire(1, wires, inverted)
    found = "board 0: all wires that come in are right; the other board does not find those that go out; "
    with pytest.raises(UserError, match=f"the boards have no link: {found}board 1: {said}; `lanai board pins`"):
        engine.await_link()
    pair.rewire(1, range(5))
    engine.await_link()
    engine.close()


@pytest.mark.ci
def test_a_deadlock_is_named():
    assert "rank 0 waits for rank 1" in job(STUCK).run().report
