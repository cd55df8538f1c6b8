"""`lanai run --device sci`: MPI programs run on it, whatever the wires do; what it cannot do is
refused."""

import re
import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).parents[1] / "messages.py"
SIZES = "0,36,37,4096,4097,40001"
FAULTS = [
    word for kind in ("drop", "corrupt", "duplicate", "reorder") for word in ("--fault", f"{kind} * rate=0.01 seed=3")
]


def lanai(*arguments):
    return warm.lanai("run", *arguments, timeout=900)


def on_sci(ranks, *options, sizes=SIZES):
    return lanai("-q", "-n", ranks, "--device", "sci", *options, sys.executable, PROGRAM, sizes)


def test_messages_of_all_kinds_arrive_whole_and_in_order():
    run = on_sci(2)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.fullmatch(r"all there after 0\.0\d+ s\n", run.stdout)


@pytest.mark.ci
def test_faults_on_the_wires_change_no_byte_and_two_runs_are_the_same():
    runs = [on_sci(2, *FAULTS, sizes="4097") for _ in range(2)]
    assert runs[0].returncode == 0, runs[0].stderr
    assert "fault: drop of" in runs[0].stderr
    assert (runs[0].stdout, runs[0].stderr) == (runs[1].stdout, runs[1].stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [("ring=4", "eager_slots=1", "chunk=64"), ("pack=generic",), ("min_block=64", "eager=64")]
)
def test_the_choices_that_the_paper_leaves_open_change_no_byte(options):
    run = on_sci(2, *(word for option in options for word in ("--option", option)), sizes="100,5000")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_on_more_ranks_with_faults_of_all_kinds(ranks):
    run = on_sci(ranks, *FAULTS)
    assert run.returncode == 0, run.stderr


def test_ranks_of_one_node_talk_through_its_memory():
    """SC-08: no message of theirs gets to a NIC, and all are whole."""
    run = lanai("-v", "-n", 2, "--ranks-per-node", 2, "--device", "sci", sys.executable, PROGRAM, SIZES)
    assert run.returncode == 0, run.stderr
    assert "the links: 0 packets" in run.stderr


def test_a_rank_that_died_is_an_error_for_those_of_its_node():
    run = lanai("-q", "-n", 2, "--ranks-per-node", 2, "--device", "sci", "--survive-death", sys.executable, "-c", LOST)
    assert "rank 0" in run.stdout


@pytest.mark.slow
def test_a_rank_made_anew_has_what_its_node_stored_to_it():
    kill = ("--checkpoint", "every=300us", "--fault", "kill rank2 at=600us")
    run = on_sci(4, "--ranks-per-node", 2, *kill, sizes="10,5000")
    assert run.returncode == 0, run.stderr
    assert "rank 2 was killed at 600.000 us and restarted" in run.stderr


@pytest.mark.slow
def test_ranks_may_share_a_nic():
    run = on_sci(4, "--ranks-per-node", 2, sizes="10,5000")
    assert (run.returncode, run.stderr) == (0, "")


def test_a_deadlock_is_reported():
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.recv(source=1 - w.rank, tag=5)"
    run = lanai("-q", "-n", 2, "--device", "sci", sys.executable, "-c", body)
    assert run.returncode == 3
    assert "tag 5" in run.stderr


EARLY = """
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    sends = [world.Isend(np.full(100, n, "u1"), 1, n) for n in range(8)]
    MPI.Request.Waitall(sends)
else:
    theirs = np.zeros(100, "u1")
    for n in reversed(range(8)):
        world.Recv(theirs, 0, n)
        assert (theirs == n).all()
"""


def test_a_rank_that_has_finished_is_told_no_more():
    options = ("--option", "ring=4", "--option", "eager_slots=8")
    run = lanai("-q", "-n", 2, "--device", "sci", *options, sys.executable, "-c", EARLY)
    assert (run.returncode, run.stderr) == (0, "")


LOST = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
world.Barrier()
if world.rank == 0:
    os._exit(1)
try:
    while True:
        world.send(bytes(5000), 0)
        world.recv(source=0)
except MPI.Exception as error:
    print(error.Get_error_string(), flush=True)
os._exit(0)
"""


def test_a_rank_that_died_is_an_error_for_those_that_talk_to_it():
    run = lanai("-q", "-n", 2, "--device", "sci", "--survive-death", sys.executable, "-c", LOST)
    assert "rank 0" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--option", "chunk=100"), "SciOptions.chunk=100 must be a multiple of 64"),
        (("--option", "pack=sparse"), "SciOptions.pack='sparse' must be one of direct, generic"),
        (("--option", "ring=2"), "ring"),
        (
            ("-n", "40", "--option", "eager=65536", "--option", "eager_slots=64"),
            "40 takes 41364 pages, and the adapter has at most 32768 for a rank; choose smaller options, such as",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(arguments, text):
    run = lanai("-n", "2", "--device", "sci", *arguments, sys.executable, PROGRAM, "0")
    assert (run.returncode, run.stdout) == (2, "")
    assert text in run.stderr


def test_a_rank_alone_that_waits_is_a_deadlock():
    """No peer can write any of its words."""
    body = "from mpi4py import MPI; MPI.COMM_WORLD.Probe(0, 3)"
    run = lanai("-q", "-n", 1, "--device", "sci", sys.executable, "-c", body)
    assert run.returncode == 3
    assert "rank 0 waits for itself in MPI_Probe" in run.stderr
