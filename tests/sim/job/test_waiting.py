"""Reports of stopped runs: the program's own call and line, the circle of waits, and who waits in vain."""

import subprocess
import sys

import pytest

from lanai_host.bus.base import Wait
from lanai_host.simulator.protocol import pack_wait, unpack_wait
from lanai_sim.commands.run import libmpi_environment
from lanai_sim.job.config import Exit, RunConfig
from lanai_sim.job.launcher import run
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.wait_graph import explain, find_circle
from lanai_sim.job.waiting import Doing, describe_wait
from lanai_sim.job.world import World

WORLDS = [pytest.param(("ideal", World), id="ideal"), pytest.param(("mpi-np", NicWorld), id="mpi-np")]


def waiting(rank, *awaits, clock=0, call="MPI_Recv", place="a.py:1"):
    return Doing(rank, clock, "waits", Wait(call, awaits=awaits), place)


@pytest.mark.parametrize(
    ("awaits", "circle"),
    [
        ({0: [1], 1: [0]}, [0, 1]),
        ({0: [0]}, [0]),
        ({0: [1], 1: [2], 2: [1]}, [1, 2]),
        ({0: [1, 2], 1: [], 2: [0]}, [0, 2]),
        ({0: [1], 1: [2], 2: []}, []),
        ({0: [9]}, []),
        ({rank: [rank + 1] for rank in range(3000)}, []),
    ],
)
def test_circles_are_found(awaits, circle):
    assert find_circle(awaits) == circle


def test_the_wait_that_came_last_closed_the_circle():
    ranks = [
        waiting(0, 1, clock=5),
        waiting(1, 2, clock=9, place="b.py:7"),
        waiting(2, 0, clock=3),
        waiting(3, 0),
        waiting(4, 3),
    ]
    lines = explain(ranks)
    assert lines[1:4] == [
        "    rank 0 waits for rank 1 in MPI_Recv at a.py:1",
        "    rank 1 waits for rank 2 in MPI_Recv at b.py:7",
        "    rank 2 waits for rank 0 in MPI_Recv at a.py:1",
    ]
    assert (
        lines[4] == "  the last of them, which closed the circle at 9 ps: rank 1 waits for rank 2 in MPI_Recv at b.py:7"
    )
    assert lines[5] == "  2 more ranks wait for ranks of the circle"


def test_a_rank_that_has_left_is_waited_for_in_vain():
    lines = explain([waiting(0, 1), Doing(1, 0, "has finalized")])
    assert lines == ["  rank 0 waits in vain for rank 1: has finalized"]


def test_a_record_survives_the_wire():
    why = Wait("MPI_Recv", 1, 5, 3, "receive on é", (1, 2, 3), False, "a.py:3")
    assert unpack_wait(pack_wait(why)) == why
    assert unpack_wait(pack_wait(why)[:-2]).awaits == (1, 2)  # what does not fit is cut at the end
    assert unpack_wait(pack_wait(Wait("MPI_Barrier"))) == Wait("MPI_Barrier")


def test_no_internal_number_is_told():
    text = describe_wait(
        Wait("MPI_Bcast", None, None, 77, "collective 2 on MPI_COMM_WORLD", tuple(range(1, 12))), "a.py:3"
    )
    assert text == (
        "waits in MPI_Bcast at a.py:3, collective 2 on MPI_COMM_WORLD, for all of ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more"
    )


PYTHON = """\
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(4)
world.Bcast(data)
if world.rank == 0:
    request = world.Irecv(data, source=1, tag=3)
    request.Wait()
"""


@pytest.mark.parametrize("where", WORLDS)
def test_python_programs(where, tmp_path):
    device, world = where
    program = tmp_path / "program.py"
    program.write_text(PYTHON)
    command = (sys.executable, str(program))
    result = run(RunConfig(command, 2, device, environment=libmpi_environment()), world)
    assert result.code == Exit.DEADLOCK
    assert (
        f"waits in MPI_Wait at {program}:6, peer 1, tag 3, for MPI_Irecv, receive on MPI_COMM_WORLD\n" in result.report
    )
    assert "waits in MPI_Finalize, collective 2 on MPI_COMM_WORLD, for all of rank 0\n" in result.report
    assert f"    rank 0 waits for rank 1 in MPI_Wait at {program}:6\n" in result.report
    assert "    rank 1 waits for rank 0 in MPI_Finalize\n" in result.report
    assert "context" not in result.report
    assert "Barrier" not in result.report


C = """\
#include <mpi.h>
static void wait_for(int other) {
    int x;
    MPI_Recv(&x, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    x = 0;
}
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    wait_for(1 - rank);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize(
    ("flags", "place"), [(["-g"], "program.c:4"), (["-g", "-O2"], "program.c:4"), ([], "wait_for in program")]
)
def test_c_programs(flags, place, tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(C)
    lanai = [sys.executable, "-m", "lanai_sim"]
    subprocess.run([*lanai, "mpicc", *flags, "-o", str(program), str(source)], check=True)
    result = run(RunConfig((str(program),), 2, environment=libmpi_environment(str(program))))
    assert result.code == Exit.DEADLOCK
    assert f"waits in MPI_Recv at {place}, peer 1, tag 7, receive on MPI_COMM_WORLD" in result.report
    assert f"rank 1 waits for rank 0 in MPI_Recv at {place}" in result.report


def test_a_limit_tells_the_same():
    body = "from mpi4py import MPI; import time\nif MPI.COMM_WORLD.rank: time.sleep(60)\nMPI.COMM_WORLD.Recv(bytearray(1), source=1)"
    result = run(RunConfig((sys.executable, "-c", body), 2, max_wall=8, environment=libmpi_environment()))
    assert result.code == Exit.TIME_LIMIT
    assert "rank 0 at 300.000 ns: waits in MPI_Recv at <string>:3, peer 1, receive on MPI_COMM_WORLD" in result.report
    assert "rank 1 at 0 ps: runs code" in result.report
