"""A NIC that is reset in the middle of one-sided traffic: who talks to it gets an error, and so does its own rank."""

import sys

import pytest

from openlanai import Job

AT = 300_000_000  # picoseconds behind the ranks' begin: between the first fences and the last
PROGRAM = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
window = MPI.Win.Allocate(8192, 1, comm=world)
if sys.argv[1] == "returned":
    for each in (world, window):
        each.Set_errhandler(MPI.ERRORS_RETURN)
sent, got = bytearray(b"x" * 3000), bytearray(3000)
try:
    for _ in range(40):
        window.Fence()
        window.Put(sent, peer, 3000 * world.rank)
        window.Fence()
        window.Get(got, peer, 3000 * world.rank)
        window.Fence()
        assert got == sent
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_PROC_ABORTED, error)
    if sys.argv[1] == "fatal":
        world.Abort(4)
"""


@pytest.fixture(autouse=True)
def reset_in_every_run(reset):
    reset(AT)


def run(errors):
    job = Job([sys.executable, "-c", PROGRAM, errors], 2, "sci", max_sim_time="100ms", capture=True)
    return job.run()


def test_the_peer_gets_an_error_and_a_program_that_aborts_ends():
    result = run("fatal")
    assert (result.code, str(result.ending)) == (4, "aborted")
    assert result.outputs[0].stdout.startswith("True ")
    assert "the peer's NIC does not answer" in result.outputs[0].stdout


def test_ranks_that_go_on_end_and_both_say_what_happened():
    result = run("returned")
    assert str(result.ending) == "finished"
    assert "the peer's NIC does not answer" in result.outputs[0].stdout
    assert "the NIC of rank 1 was reset" in result.outputs[1].stdout
