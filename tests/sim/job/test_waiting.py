"""Reports of stopped runs: the program's own call and line, and the report of an end from outside."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from pairs import first_of

from lanai_host.operation import Wait
from lanai_host.simulator.protocol import pack_wait, unpack_wait
from lanai_sim.job.result import Exit
from lanai_sim.job.waiting import RankState, describe_wait, explain, find_circle, find_stuck
from openlanai import Job

PYTHON = """\
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(4)
world.Bcast(data)
if world.rank == 0:
    request = world.Irecv(data, source=1, tag=3)
    request.Wait()
"""


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_python_programs(device, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PYTHON)
    command = (sys.executable, str(program))
    result = Job(command, 2, device).run()
    assert result.code == Exit.DEADLOCK
    assert (
        f"waits in MPI_Wait at {program}:6, peer 1, tag 3, for MPI_Irecv, receive on MPI_COMM_WORLD\n" in result.report
    )
    assert "waits in MPI_Finalize, collective 2 on MPI_COMM_WORLD, for all of rank 0\n" in result.report
    assert f"    rank 0 waits for rank 1 in MPI_Wait at {program}:6\n" in result.report
    assert "    rank 1 waits for rank 0 in MPI_Finalize\n" in result.report
    assert "context" not in result.report
    assert "in MPI_Barrier" not in result.report
    assert "for MPI_Finalize (collective 2), 0 bytes, on MPI_COMM_WORLD" in result.report


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
    ("flags", "place"), first_of((["-g", "-O2"], "program.c:4"), (["-g"], "program.c:4"), ([], "wait_for in program"))
)
def test_c_programs(flags, place, tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(C)
    lanai = [sys.executable, "-m", "lanai_sim"]
    subprocess.run([*lanai, "mpicc", *flags, "-o", str(program), str(source)], check=True)
    result = Job((str(program),), 2).run()
    assert result.code == Exit.DEADLOCK
    assert f"waits in MPI_Recv at {place}, peer 1, tag 7, receive on MPI_COMM_WORLD" in result.report
    assert f"rank 1 waits for rank 0 in MPI_Recv at {place}" in result.report


STUCK = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Send(bytearray(3), 1, tag=1)
if world.rank == 2:
    while MPI.Wtime() < 0.003:  # in simulated time later than what the others do
        world.Iprobe()
    print("ready", flush=True)
    while True:
        pass
world.Recv(bytearray(1), source=1 - world.rank, tag=2)
"""


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
@pytest.mark.parametrize("how", [pytest.param("limit", marks=pytest.mark.ci(whole=True)), "signal"])
def test_an_end_from_outside_tells_of_circles_and_messages(device, how, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(STUCK)
    command = [sys.executable, "-m", "lanai_sim", "run", "-n", "3", "--device", device, sys.executable, str(program)]
    limit = ["--max-wall", "12"] if how == "limit" else []
    with subprocess.Popen(
        [*command[:4], *limit, *command[4:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        if how == "signal":
            assert job.stdout.readline() == "ready\n"
            time.sleep(1)
            job.send_signal(signal.SIGTERM)
        _, report = job.communicate(timeout=500)
    assert job.returncode == (Exit.TIME_LIMIT if how == "limit" else Exit.INTERRUPTED), report
    doubt = "" if device == "ideal" else ", unless a message is on its way"
    assert f"  circle of waits{doubt}:\n    rank 0 waits for rank 1 in MPI_Recv at {program}:11\n" in report
    assert "    not received: a message from rank 0, tag 1, 3 bytes, on MPI_COMM_WORLD\n" in report
    assert "rank 2 at " in report
    assert "runs code" in report


def test_a_rank_that_a_signal_has_stopped_is_told():
    body = (
        "import os, signal\nfrom mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank: os.kill(os.getpid(), signal.SIGSTOP)\nMPI.COMM_WORLD.barrier()"
    )
    result = Job((sys.executable, "-c", body), 2, max_wall=6).run()
    assert result.code == Exit.TIME_LIMIT
    assert "rank 1 at 0 ps: is stopped by a signal or a debugger (pid " in result.report


def test_a_healthy_program_at_a_limit_shows_no_circle():
    body = (
        "from mpi4py import MPI\nworld, data = MPI.COMM_WORLD, bytearray(1)\nif world.rank: world.Send(data, 0)\n"
        "while True: world.Recv(data), world.Send(data, 1 - world.rank)"
    )
    result = Job((sys.executable, "-c", body), 2, max_sim_time=50_000_000).run()
    assert result.code == Exit.TIME_LIMIT
    assert "waits in MPI_Recv" in result.report
    assert "circle" not in result.report


HEALTHY = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
for turn in range(10**9):
    world.Dup().Free()
    world.bcast(turn, root=turn % 2)
"""


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_a_healthy_program_that_is_interrupted_shows_no_circle(device):
    for _ in range(3):
        result = Job((sys.executable, "-c", HEALTHY), 2, device, max_wall=2.5).run()
        assert result.code == Exit.TIME_LIMIT
        assert "circle" not in result.report
        assert "no reason" not in result.report


@pytest.mark.by_hand
@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_the_same_beside_other_work(device, busy_machine):
    result = Job((sys.executable, "-c", HEALTHY), 2, device, max_wall=30).run()
    assert result.code == Exit.TIME_LIMIT
    assert "waits in MPI_" in result.report
    assert "circle" not in result.report


@pytest.mark.ci
@pytest.mark.parametrize("device", ["ideal", pytest.param("mpi-np", marks=pytest.mark.by_hand)])
def test_a_deadlock_beside_other_work(device, busy_machine):
    """The end of the rank in MPI_Finalize is waited for, however long it takes."""
    body = (
        "from mpi4py import MPI\nworld = MPI.COMM_WORLD\nif world.rank == 2: raise SystemExit(world.Send(b'x', 0))\n"
        "world.Recv(bytearray(1), source=1 - world.rank)"
    )
    texts = set()
    for _ in range(2):
        result = Job((sys.executable, "-c", body), 3, device).run()
        assert result.code == Exit.DEADLOCK
        assert "  circle of waits:\n    rank 0 waits for rank 1 in MPI_Recv at <string>:4\n" in result.report
        assert "    not received: a message from rank 2, tag 0, 1 byte, on MPI_COMM_WORLD" in result.report
        texts.add(result.report)
    assert len(texts) == 1


@pytest.mark.ci
def test_a_limit_tells_the_same():
    body = (
        "from mpi4py import MPI; import time\nif MPI.COMM_WORLD.rank: "
        "time.sleep(60)\nMPI.COMM_WORLD.Recv(bytearray(1), source=1)"
    )
    result = Job((sys.executable, "-c", body), 2, max_wall=8).run()
    assert result.code == Exit.TIME_LIMIT
    assert "rank 0 at 300.000 ns: waits in MPI_Recv at <string>:3, peer 1, receive on MPI_COMM_WORLD" in result.report
    assert "rank 1 at 0 ps: waits in the system's clock_nanosleep()" in result.report


# The graph of waits: its circles, and ranks that are waited for in vain.


def waiting(rank, *awaits, clock=0, call="MPI_Recv", place="a.py:1"):
    return RankState(rank, clock, "waits", Wait(call, awaits=awaits), place)


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
    lines = explain([waiting(0, 1), RankState(1, 0, "has finalized")])
    assert lines == ["  rank 0 waits in vain for rank 1: has finalized"]


def test_at_a_limit_only_those_are_stuck_that_no_rank_can_help():
    runs = RankState(2, 0, "runs code")
    any_of_two = RankState(0, 0, "waits", Wait("MPI_Recv", awaits=(1, 2), every=False))
    both = RankState(0, 0, "waits", Wait("MPI_Allreduce", awaits=(1, 2)))
    assert find_stuck([any_of_two, waiting(1, 0), runs]) == set()
    assert find_stuck([both, waiting(1, 0), runs]) == {0, 1}
    assert find_stuck([waiting(0, 1), waiting(1, 0), runs]) == {0, 1}
    assert find_stuck([waiting(0, 1), replace(waiting(1, 0), coming=True), runs]) == set()
    assert explain([any_of_two, waiting(1, 0), runs], deadlock=False) == []
    assert explain([waiting(0, 2), runs], deadlock=False) == []  # not in vain: it runs
    sure = [replace(waiting(rank, 1 - rank), coming=False) for rank in range(2)]
    assert explain([*sure, runs], deadlock=False)[0] == "  circle of waits:"
    unsure = [waiting(rank, 1 - rank) for rank in range(2)]
    assert explain([*unsure, runs], deadlock=False)[0] == "  circle of waits, unless a message is on its way:"


def in_collective(rank, number, *awaits, call="MPI_Bcast", note="", context=9):
    note = f"{note}collective {number} on MPI_COMM_WORLD"
    return RankState(rank, 0, "waits", Wait(call, None, None, context, note, awaits), "a.py:1")


def test_at_a_limit_nobody_waits_for_a_rank_that_has_passed_the_collective():
    behind, ahead = in_collective(0, 172, 1), in_collective(1, 175, 0)
    assert explain([behind, ahead], deadlock=False) == []
    assert len(explain([behind, ahead], deadlock=True)) == 4
    for other in (
        in_collective(1, 172, 0),
        in_collective(1, 175, 0, context=8),
        in_collective(1, 175, 0, call="MPI_Wait", note="for MPI_Ibcast, "),  # these are counted apart
        waiting(1, 0),
    ):
        assert len(explain([behind, other], deadlock=False)) == 3


def test_no_wait_closes_a_circle_unless_it_is_a_deadlock():
    ranks = [replace(waiting(rank, 1 - rank), coming=False) for rank in range(2)]
    assert [len([line for line in explain(ranks, how) if "closed" in line]) for how in (True, False)] == [1, 0]


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
        "waits in MPI_Bcast at a.py:3, collective 2 on MPI_COMM_WORLD, for all of ranks 1, 2, 3, 4, 5, 6, 7, 8 "
        "and 3 more"
    )
