"""`lanai queues`: the message queues of every rank at a simulated time."""

import json
import subprocess
import sys

import pytest

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
