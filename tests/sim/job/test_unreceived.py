"""Reports of stopped runs name the messages that no receive has taken, wherever they are kept."""

import json
import subprocess
import sys

import pytest

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_host.stacks import names
from lanai_sim.job.result import Exit
from lanai_sim.job.waiting import MOST_MESSAGES
from openlanai import Job

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


@pytest.mark.parametrize("device", ["ideal", "mpi-np"])
def test_messages_that_no_receive_took(device, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(UNRECEIVED)
    result = Job((sys.executable, str(program)), 2, device).run()
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
    result = Job((sys.executable, str(program)), 4, "mpi-np").run()
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
    """One pool for all channels: when the last one has messages, those of the others are in host
    memory."""
    program = tmp_path / "program.py"
    program.write_text(FEW)
    result = Job((sys.executable, str(program)), 4, "mpi-np", options=McpConfig(resident=1)).run()
    assert result.code == Exit.DEADLOCK
    found = [line for line in result.report.splitlines() if "not received: " in line]
    assert found == [
        f"    not received: a message from rank {rank}, tag {tag}, {10 * rank + tag} bytes, on MPI_COMM_WORLD"
        for rank in (1, 2, 3)
        for tag in (3, 1)
    ]


FREED = """\
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(4)
halo, later = world.Dup(), world.Dup()
halo.Set_name("halo")
request = MPI.REQUEST_NULL
if world.rank == 0:
    for tag in (3, 5):
        halo.Send(data, 1, tag=tag)
    later.Send(data, 1)
else:
    request = later.Irecv(bytearray(4), 0)  # may be under way when the communicator is freed
world.Barrier()
try:
    later.Free()
    halo.Free()
except MPI.Exception as error:
    print(world.rank, error)
    for tag in (5, 3):
        halo.Recv(data, 0, tag=tag)
    halo.Free()
request.Wait()
"""


@pytest.mark.parametrize("device", sorted(names()))
def test_a_communicator_with_messages_is_not_freed(device, tmp_path, capfd):
    program = tmp_path / "program.py"
    program.write_text(FREED)
    result = Job((sys.executable, str(program)), 2, device).run()
    assert result.code == 0, result.report
    assert capfd.readouterr().out == "1 MPI_Comm_free: messages on halo were not received: 2\n"


HALF_MADE = """\
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Send(bytearray(8), dest=1, tag=5)
    world.Recv(bytearray(1), source=2)
elif world.rank == 1:
    world.Create_group(world.group.Incl([2, 1]))
else:
    world.Recv(bytearray(1), source=0)
"""


def test_a_message_at_a_rank_that_makes_a_communicator():
    result = Job((sys.executable, "-c", HALF_MADE), 3).run()
    assert result.code == Exit.DEADLOCK
    assert "    not received: a message from rank 0, tag 5, 8 bytes, on MPI_COMM_WORLD" in result.report.splitlines()


# `lanai queues`: the message queues of every rank at a simulated time.


PROGRAM = """if True:
    import sys
    import numpy as np
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    part = world.Dup()
    part.Set_name("halves")
    if world.rank == 0:
        requests = [
            world.Irecv(np.zeros(100, "i4"), source=1, tag=5),
            part.Irecv(np.zeros(7, "u1"), source=MPI.ANY_SOURCE),
            world.Issend(np.zeros(25000, "i4"), dest=1, tag=9),
        ]
        MPI.Request.Waitall(requests)
    else:
        for _ in range(2):
            world.Send(np.zeros(2, "i4"), dest=0, tag=6)
        world.Recv(np.zeros(1, "i4"), source=0, tag=1)
    """
RANK_0 = [
    "  receives posted: 2",
    "    a receive from rank 1, tag 5, up to 400 bytes, on MPI_COMM_WORLD",
    "    a receive from any rank, any tag, up to 7 bytes, on halves",
    "  messages not received: 1",
    "    2 messages from rank 1, tag 6, 8 bytes each, on MPI_COMM_WORLD",
    "  sends not done: 1",
    "    a send to rank 1, tag 9, 100000 bytes, on MPI_COMM_WORLD",
]
RANK_1 = [
    "  receives posted: 1",
    "    a receive from rank 0, tag 1, up to 4 bytes, on MPI_COMM_WORLD",
    "  messages not received: 1",
    "    a message from rank 0, tag 9, 100000 bytes, on MPI_COMM_WORLD",
    "  sends not done: none",
]


def queues(*arguments):
    command = [sys.executable, "-m", "lanai_sim", "queues", "-n", "2", *arguments, "python", "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    "device", ["ideal", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mpi-np", "t3d", "mbcf"))]
)
def test_all_queues_of_ranks_that_wait_for_ever(device):
    done = queues("--at", "1s", "--device", device)
    assert done.returncode == 3, done.stderr
    text = done.stdout.splitlines()
    assert text[0].startswith("the run ended at ")
    assert text[0].endswith(", before 1s")
    assert text[1].startswith("rank 0 at ")
    assert text[2:9] == RANK_0
    assert text[9].startswith("rank 1 at ")
    assert text[10:] == RANK_1
    pending = [line.strip() for line in done.stderr.splitlines() if "pending: " in line]
    assert pending == [f"pending: {RANK_0[index].strip()}" for index in (1, 2, 6)]  # rank 1's only one is its wait


def test_the_queues_at_a_time_before_the_end(tmp_path):
    """The large message is on its way, rank 0 has received nothing yet."""
    file = tmp_path / "figures.json"
    done = queues("--at", "100us", "--json", str(file))
    assert done.returncode == 0, done.stderr
    text = done.stdout.splitlines()
    assert text[0] == "the message queues at 100.000 us"
    assert RANK_0[1] in text
    assert "  messages not received: none" in text
    figures = json.loads(file.read_text())["figures"]
    assert figures["queues.rank0.receives"] == 2
    assert figures["queues.rank0.sends"] == 1
    assert figures["queues.rank1.messages"] == 0


def test_a_limit_of_its_own_is_refused():
    done = queues("--at", "1ms", "--max-sim-time", "2ms")
    assert done.returncode == 2
    assert "the run ends at the time of --at" in done.stderr
