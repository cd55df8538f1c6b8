"""`lanai run --device t3d`: MPI programs run on it, the same each time; what it cannot do is
refused."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).parents[1] / "messages.py"
SIZES = "0,3,1023,1024,1025,9001"


def lanai(*arguments):
    return warm.lanai("run", *arguments, timeout=500)


def on_t3d(ranks, *options, sizes=SIZES):
    return lanai("-q", "-n", ranks, "--device", "t3d", *options, sys.executable, PROGRAM, sizes)


@pytest.mark.parametrize("ranks", [1, 3])
def test_messages_of_all_kinds_arrive_whole_and_in_order(ranks):
    run = on_t3d(ranks)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.fullmatch(r"all there after 0\.0\d+ s\n", run.stdout)


def test_two_runs_are_the_same():
    runs = [on_t3d(2, sizes="2000") for _ in range(2)]
    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * 2
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize(
    "option", ["short=64", *(pytest.param(n, marks=pytest.mark.ci) for n in ("long_sends=1", "reply_pages=1"))]
)
def test_the_sizes_that_the_paper_leaves_open_change_no_byte(option):
    run = on_t3d(2, "--option", option, sizes="100,9001")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
def test_on_a_torus_with_long_messages():
    run = on_t3d(8, "--fabric", "torus:2x2x2", sizes=f"{SIZES},300001")
    assert (run.returncode, run.stderr) == (0, "")


def test_a_damaged_packet_ends_in_an_error_and_not_in_wrong_bytes():
    run = lanai("-q", "-n", 2, "--device", "t3d", "--fault", "corrupt nic0 packet=3", sys.executable, PROGRAM, "2000")
    assert run.returncode == 3, "the other rank waits for the one that failed"
    assert re.search(r"the NIC of rank 1 met \d packets or accesses that failed; t3d has no recovery", run.stderr)


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
            assert "t3d has no recovery" in str(error)

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


def test_nothing_is_written_to_a_buffer_whose_receive_has_failed():
    """The third packet of the message is damaged; what follows it must not reach memory that the
    program has back."""
    fault = ("--fault", "corrupt nic0 packet=3")
    run = lanai("-q", "-n", 2, "--device", "t3d", *fault, sys.executable, "-c", AFTER_A_FAILURE)
    assert run.stdout == "written afterwards: 0\n"


def test_probes_end_when_the_nic_has_failed():
    """No message can come any more. Nothing else would end a probe that waits."""
    body = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Isend(bytes(100), 1, tag=1)
else:
    for probe in (world.Probe, world.Mprobe, world.Iprobe):
        try:
            probe(MPI.ANY_SOURCE, 2)
        except MPI.Exception as error:
            print(error.Get_error_class() == MPI.ERR_OTHER, "t3d has no recovery" in str(error))
"""
    run = lanai("-q", "-n", 2, "--device", "t3d", "--fault", "corrupt nic0 packet=1", sys.executable, "-c", body)
    assert run.stdout == "True True\n" * 3


def test_a_deadlock_is_reported():
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.recv(source=1 - w.rank, tag=5)"
    run = lanai("-q", "-n", 2, "--device", "t3d", sys.executable, "-c", body)
    assert run.returncode == 3
    assert "tag 5" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--ranks-per-node", "2"), "t3d puts one rank on a NIC, not 2; leave out --ranks-per-node"),
        (("--option", "short=1023"), "T3dOptions.short=1023 must be a multiple of 4"),
        (("--option", "short=8"), "short"),
        (("--option", "slots=8"), "has no key 'slots'"),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, text):
    run = lanai("-n", "2", "--device", "t3d", *arguments, sys.executable, PROGRAM, "0")
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr
