"""`lanai explore` finds the wrong order of each program, and `lanai run --replay` repeats it."""

import json
import resource

import pytest
from warm import lanai

from .programs import FOLDER, WRONG, command, has_compiler


def explored(words, ranks, schedule, *options):
    return lanai("explore", "-n", ranks, "--schedule", schedule, *options, "--", *words, timeout=900)


def test_a_wrong_order_is_found_and_repeated(tmp_path):
    words, schedule = command("first_reply.py", tmp_path), tmp_path / "found.json"
    assert lanai("run", "-q", "-n", 3, *words, timeout=500).returncode == 0
    done = explored(words, 3, schedule)
    assert done.returncode == 10, done.stderr
    assert "rank failed with 1 choice changed" in done.stderr
    assert "first_reply.py:7: wildcard 1 takes the message of rank 2 with tag 0" in done.stderr
    assert "first_reply.py:10 send messages that race for the receive of rank 0 at" in done.stderr
    again = lanai("run", "--replay", schedule, timeout=500)
    assert again.returncode == 1
    assert "AssertionError" in again.stderr
    assert "the run has followed the schedule" in again.stderr


def test_a_right_program_is_tried_in_every_order(tmp_path):
    script = tmp_path / "right.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "if comm.rank:\n"
        "    comm.send(comm.rank, dest=0)\n"
        "else:\n"
        "    assert {comm.recv(source=MPI.ANY_SOURCE) for _ in range(2)} == {1, 2}\n"
    )
    done = explored(["python", script], 3, tmp_path / "none.json", "--outputs")
    assert done.returncode == 0, done.stderr
    assert "3 ranks: every order of receives was tried, sends one by one: " in done.stderr
    assert not (tmp_path / "none.json").exists()


TWO_TESTS = """\
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    world.Send(bytearray(4), 0, tag=world.rank)
    world.Barrier()
else:
    requests = [world.Irecv(bytearray(4), source=rank, tag=rank) for rank in (1, 2)]
    world.Barrier()
    if not any([request.Test() for request in requests]):
        sys.exit("both tests found nothing")
    MPI.Request.Waitall(requests)
"""


def test_what_is_told_of_orders_that_are_not_tried(tmp_path):
    """Two tests that find nothing are none of the plans."""
    done = explored(["python", "-c", TWO_TESTS], 3, tmp_path / "none.json")
    assert done.returncode == 0, done.stderr
    assert "3 ranks: every order of receives was tried, sends and tests one by one: 9 runs" in done.stderr
    done = explored(["python", "-c", TWO_TESTS], 3, tmp_path / "none.json", "--runs", 3)
    assert done.returncode == 12
    assert "3 ranks: nothing found before the budget was spent: 3 runs" in done.stderr


@pytest.mark.ci
def test_a_wrong_order_is_found_beside_other_work(busy_machine, tmp_path):
    """By as many runs as on a quiet machine: neither the budget nor the limit of a run goes by real time."""
    program = ["python", FOLDER / "first_reply.py"]
    done = explored(program, 3, tmp_path / "found.json", "--time", 30, "--max-wall", 10)
    assert done.returncode == 10, done.stderr
    assert "3 ranks: 1 found in 7 runs" in done.stderr, done.stderr


@pytest.mark.ci
@pytest.mark.parametrize("name", WRONG)
def test_each_wrong_order_is_found_and_repeated(name, tmp_path):
    if name.endswith(".c") and not has_compiler():
        pytest.skip("no C compiler")
    ranks, kind = WRONG[name]
    words, schedule = command(name, tmp_path), tmp_path / "found.json"
    assert lanai("run", "-q", "-n", ranks, *words, timeout=500).returncode == 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = explored(words, ranks, schedule, *(["--outputs"] if kind == "output" else []))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 10, done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60
    assert f"{ranks} ranks: {kind} with" in done.stderr
    expected = json.loads(schedule.read_text())
    for _ in range(3):
        again = lanai("run", "--replay", schedule, timeout=500)
        assert again.returncode == expected["code"], again.stderr
        assert "the run has followed the schedule" in again.stderr


@pytest.mark.ci
def test_a_range_of_ranks_is_searched_until_one_fails(tmp_path):
    done = explored(["python", FOLDER / "phases.py"], "1-4", tmp_path / "found.json")
    assert done.returncode == 10
    assert "1 rank: every order was tried" in done.stderr
    assert "3 ranks: rank failed with 1 choice changed" in done.stderr
    assert "4 ranks" not in done.stderr


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("import os; from mpi4py import MPI; print(os.urandom(8).hex())", "random numbers of the system"),
        ("import time; from mpi4py import MPI; print(time.time_ns())", "its clock"),
    ],
)
def test_a_program_that_differs_by_itself_is_named_with_the_cause(text, cause, tmp_path):
    done = explored(["python", "-c", text], 2, tmp_path / "found.json", "--outputs")
    assert done.returncode == 0, done.stderr
    assert "the program is not deterministic by itself: line 1 of rank 0 is" in done.stderr
    assert f"the cause is {cause}" in done.stderr


@pytest.mark.ci
def test_orders_that_cannot_be_are_not_tried(tmp_path):
    """Each rank sends when rank 0 has received from the one before, so there is one order."""
    script = tmp_path / "chain.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "comm = MPI.COMM_WORLD\n"
        "data = bytearray(1)\n"
        "if comm.rank:\n"
        "    if comm.rank > 1:\n"
        "        comm.Recv(data, 0)\n"
        "    comm.Send(data, 0)\n"
        "else:\n"
        "    for following in range(2, comm.size + 1):\n"
        "        comm.Recv(data)\n"
        "        if following < comm.size:\n"
        "            comm.Send(data, following)\n"
    )
    done = explored(["python", script], 4, tmp_path / "none.json")
    assert done.returncode == 0, done.stderr
    assert "4 ranks: every order of receives was tried, sends one by one: 12 runs" in done.stderr
    assert "alternatives cannot be)" in done.stderr
