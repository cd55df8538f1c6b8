"""Reports of stopped runs: the program's own call and line, the circle of waits, and who waits in
vain."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_host.bus.base import Wait
from lanai_host.simulator.protocol import pack_wait, unpack_wait
from lanai_sim.job.config import Exit
from lanai_sim.job.nic_world import NicWorld
from lanai_sim.job.start import start
from lanai_sim.job.wait_graph import explain, find_circle, find_stuck
from lanai_sim.job.waiting import MOST_MESSAGES, Doing, describe_wait
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


def test_at_a_limit_only_those_are_stuck_that_no_rank_can_help():
    runs = Doing(2, 0, "runs code")
    any_of_two = Doing(0, 0, "waits", Wait("MPI_Recv", awaits=(1, 2), every=False))
    both = Doing(0, 0, "waits", Wait("MPI_Allreduce", awaits=(1, 2)))
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
    result = start(command, 2, device, world=world)
    assert result.code == Exit.DEADLOCK
    assert (
        f"waits in MPI_Wait at {program}:6, peer 1, tag 3, for MPI_Irecv, receive on MPI_COMM_WORLD\n" in result.report
    )
    assert "waits in MPI_Finalize, collective 2 on MPI_COMM_WORLD, for all of rank 0\n" in result.report
    assert f"    rank 0 waits for rank 1 in MPI_Wait at {program}:6\n" in result.report
    assert "    rank 1 waits for rank 0 in MPI_Finalize\n" in result.report
    assert "context" not in result.report
    assert "in MPI_Barrier" not in result.report
    assert "for MPI_Barrier or MPI_Finalize (collective 2), 0 bytes, on MPI_COMM_WORLD" in result.report


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
    result = start((str(program),), 2)
    assert result.code == Exit.DEADLOCK
    assert f"waits in MPI_Recv at {place}, peer 1, tag 7, receive on MPI_COMM_WORLD" in result.report
    assert f"rank 1 waits for rank 0 in MPI_Recv at {place}" in result.report


UNRECEIVED = """\
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(4)
other = world.Create(world.group.Excl([1]) if world.size > 2 else world.group.Incl([1, 0]))
if other:
    other.Set_name("halo")
if world.rank == 0:
    for tag in (8, 8, 9):
        world.Send(data, 1, tag=tag)
    other.Send(bytearray(700), 0, tag=5)
    request = world.Isend(bytearray(70000), 1, tag=6)
    world.Bcast(data)
    world.Recv(data, source=1)
else:
    world.Recv(data, source=0, tag=7)
"""


@pytest.mark.parametrize("where", WORLDS)
def test_messages_that_no_receive_took(where, tmp_path):
    device, world = where
    program = tmp_path / "program.py"
    program.write_text(UNRECEIVED)
    result = start((sys.executable, str(program)), 2, device, world=world)
    assert result.code == Exit.DEADLOCK
    lines = result.report.splitlines()
    at = lines.index(next(line for line in lines if line.startswith("  rank 1 at")))
    assert lines[at + 1 : at + 6] == [
        "    not received: 2 messages from rank 0, tag 8, 4 bytes each, on MPI_COMM_WORLD",
        "    not received: a message from rank 0, tag 9, 4 bytes, on MPI_COMM_WORLD",
        "    not received: a message from rank 0, tag 6, 70000 bytes, on MPI_COMM_WORLD",
        "    not received: a message from rank 0, for MPI_Bcast (collective 2), 4 bytes, on MPI_COMM_WORLD",
        "    not received: a message from rank 1, tag 5, 700 bytes, on halo",  # its rank there
    ]
    assert "not received" not in "".join(lines[:at] + lines[at + 6 :])


MANY = """\
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(1)
requests = []
if world.rank:
    requests = [world.Isend(data, 0, tag=tag) for tag in range(40)]
world.Barrier()
MPI.Request.Waitall(requests)
world.Recv(data, source=1 if world.rank == 0 else 0, tag=99)
"""


def test_messages_on_the_nic_and_off_it(tmp_path):
    """More than a channel has slots for, so that some were taken to the host."""
    program = tmp_path / "program.py"
    program.write_text(MANY)
    result = start((sys.executable, str(program)), 4, "mpi-np")
    assert result.code == Exit.DEADLOCK
    found = [line for line in result.report.splitlines() if "not received: " in line]
    assert len(found) == MOST_MESSAGES + 1
    assert found[-1] == f"    not received: {3 * 40 - MOST_MESSAGES} more"


FEW = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    world.Recv(bytearray(1), source=world.rank - 1)
    for tag in (3, 1):
        world.Send(bytearray(10 * world.rank + tag), 0, tag=tag)
if world.rank < 3:
    world.Send(bytearray(1), world.rank + 1)
world.Recv(bytearray(1), source=(world.rank - 1) % 4, tag=99)
"""


def test_messages_of_channels_that_have_left_the_nic(tmp_path):
    """One room for all channels: when the last one has messages, those of the others are in host
    memory."""
    program = tmp_path / "program.py"
    program.write_text(FEW)
    result = start((sys.executable, str(program)), 4, "mpi-np", options=McpConfig(resident=1))
    assert result.code == Exit.DEADLOCK
    found = [line for line in result.report.splitlines() if "not received: " in line]
    assert found == [
        f"    not received: a message from rank {rank}, tag {tag}, {10 * rank + tag} bytes, on MPI_COMM_WORLD"
        for rank in (1, 2, 3)
        for tag in (3, 1)
    ]


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


@pytest.mark.parametrize("where", WORLDS)
@pytest.mark.parametrize("how", [pytest.param("limit", marks=pytest.mark.ci), "signal"])
def test_an_end_from_outside_tells_of_circles_and_messages(where, how, tmp_path):
    device, _ = where
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
        _, report = job.communicate(timeout=100)
    assert job.returncode == (Exit.TIME_LIMIT if how == "limit" else Exit.INTERRUPTED), report
    doubt = "" if device == "ideal" else ", unless a message is on its way"
    assert f"  circle of waits{doubt}:\n    rank 0 waits for rank 1 in MPI_Recv at {program}:11\n" in report
    assert "    not received: a message from rank 0, tag 1, 3 bytes, on MPI_COMM_WORLD\n" in report
    assert "rank 2 at " in report
    assert "runs code" in report


def test_a_healthy_program_at_a_limit_shows_no_circle():
    body = (
        "from mpi4py import MPI\nworld, data = MPI.COMM_WORLD, bytearray(1)\nif world.rank: world.Send(data, 0)\n"
        "while True: world.Recv(data), world.Send(data, 1 - world.rank)"
    )
    result = start((sys.executable, "-c", body), 2, max_sim_time=50_000_000)
    assert result.code == Exit.TIME_LIMIT
    assert "waits in MPI_Recv" in result.report
    assert "circle" not in result.report


@pytest.mark.ci
def test_a_limit_tells_the_same():
    body = (
        "from mpi4py import MPI; import time\nif MPI.COMM_WORLD.rank: "
        "time.sleep(60)\nMPI.COMM_WORLD.Recv(bytearray(1), source=1)"
    )
    result = start((sys.executable, "-c", body), 2, max_wall=8)
    assert result.code == Exit.TIME_LIMIT
    assert "rank 0 at 300.000 ns: waits in MPI_Recv at <string>:3, peer 1, receive on MPI_COMM_WORLD" in result.report
    assert "rank 1 at 0 ps: runs code" in result.report
