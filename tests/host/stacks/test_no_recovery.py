"""`lanai run` on systems that one failure ends: bip and t3d. They run the same each time, and end with errors."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).with_name("messages.py")

pytestmark = pytest.mark.parametrize("device", ["bip", "t3d"])


def on(device, *arguments):
    return warm.lanai("run", "-q", "-n", 2, "--device", device, *arguments, timeout=500)


def test_two_runs_are_the_same(device):
    runs = [on(device, sys.executable, PROGRAM, "2000") for _ in range(2)]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize("size", [8, 2000])
def test_a_damaged_packet_ends_in_an_error_and_not_in_wrong_bytes(device, size):
    run = on(device, "--fault", "corrupt nic0 packet=3", sys.executable, PROGRAM, str(size))
    assert run.returncode == 3, "the other rank waits for the one that failed"
    text = rf"the NIC of rank 1 met \d packets or accesses that failed; {device} has no recovery"
    assert re.search(text, run.stderr)


AFTER_A_FAILURE = """
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
memory = np.zeros(60_000, "u1")
start = MPI.Wtime()

def look(source):
    while MPI.Wtime() < start + 2e-3:
        try:
            world.Iprobe(source)
        except MPI.Exception as error:
            assert " has no recovery" in str(error)

if world.rank == 0:
    world.Isend(np.full(60_000, 7, "u1"), 1)
    look(1)
else:
    try:
        world.Recv(memory, 0)
    except MPI.Exception:
        memory[:] = 0
    look(0)
    print("written afterwards:", np.count_nonzero(memory))
"""


def test_nothing_is_written_to_a_buffer_whose_receive_has_failed(device):
    """The third packet of the message is damaged. The packets after it must not reach memory that the program has
    back."""
    run = on(device, "--fault", "corrupt nic0 packet=3", sys.executable, "-c", AFTER_A_FAILURE)
    assert run.stdout == "written afterwards: 0\n"


PROBES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Isend(bytes(100), 1, tag=1)
else:
    for probe in (world.Probe, world.Mprobe, world.Iprobe):
        try:
            probe(MPI.ANY_SOURCE, 2)
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_OTHER, " has no recovery" in str(error))
"""


def test_probes_end_when_the_nic_has_failed(device):
    """No message can come any more. Nothing else would end a probe that waits."""
    run = on(device, "--fault", "corrupt nic0 packet=1", sys.executable, "-c", PROBES)
    assert run.stdout == "True True\n" * 3


def test_a_deadlock_is_reported(device):
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.recv(source=1 - w.rank, tag=5)"
    run = on(device, sys.executable, "-c", body)
    assert run.returncode == 3
    assert "tag 5" in run.stderr
