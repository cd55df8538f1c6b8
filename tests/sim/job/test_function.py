"""Python functions as ranks: lambdas, closures, functions of modules that no other process finds."""

import re
import subprocess
import sys

import pytest
from warm import lanai

from lanai_host.errors import UserError
from lanai_host.simulator.protocol import SeenType
from lanai_sim.job.function import run
from lanai_sim.job.result import Deadlock, RankError, RunFailed
from lanai_sim.signatures import differences

FACTOR = 10


class Point:
    def __init__(self, x):
        self.x = x


def rank():
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank


def scaled(offset, *, more=0):
    return FACTOR * rank() + offset + more


def moved(point):
    return Point(point.x + rank())


def test_results_come_back_by_rank():
    assert run(scaled, 3, args=(5,), kwargs={"more": 2}) == [7, 17, 27]


def test_lambdas_and_closures_run():
    def outer(base):
        return lambda: base + rank()

    assert run(outer(100), 2) == [100, 101]


def test_objects_of_the_callers_classes_come_back_as_such():
    points = run(moved, 2, args=(Point(1),))
    assert [type(point) for point in points] == [Point, Point]
    assert [point.x for point in points] == [1, 2]


def test_on_nics_the_ranks_have_one_mpi():
    def total():
        from mpi4py import MPI

        return MPI.COMM_WORLD.allreduce(rank() + 1)

    assert run(total, 2, "mpi-np", buffers="page") == [3, 3]


def test_an_exception_of_a_rank_is_raised(capfd):
    def fails():
        if rank() == 1:
            raise ValueError("one is too many")
        from mpi4py import MPI

        MPI.COMM_WORLD.recv(source=1)

    with pytest.raises(RankError, match="rank 1 raised an exception") as caught:
        run(fails, 2)
    error = caught.value
    assert (error.rank, type(error.__cause__), str(error.__cause__)) == (1, ValueError, "one is too many")
    assert re.search(r'test_function.py", line \d+, in fails\n +raise ValueError', error.traceback)
    assert not error.result.ok
    assert capfd.readouterr().err == ""


def test_what_cannot_be_sent_back_is_an_error_of_the_rank():
    with pytest.raises(RankError, match="cannot pickle"):
        run(lambda: (number for number in ()), 1)


def test_a_rank_that_does_not_come_to_its_end_is_a_failed_run():
    def killed():
        import os

        os.abort()

    with pytest.raises(RunFailed, match="SIGABRT"):
        run(killed, 1)


def test_a_deadlock_names_the_line_of_the_function():
    def waits():
        from mpi4py import MPI

        MPI.COMM_WORLD.Recv(bytearray(1), 1 - rank())

    with pytest.raises(Deadlock) as caught:
        run(waits, 2)
    assert {re.sub(r".*/", "", one.place.rpartition(":")[0]) for one in caught.value.result.ranks} == {
        "test_function.py"
    }


def test_bad_members_are_refused():
    with pytest.raises(UserError, match=r"did you mean 'mpi-np'\?"):
        run(rank, 2, "mpinp")


MAIN = """
import asyncio
import openlanai

BASE = 3

class Box:
    def __init__(self, value):
        self.value = value

def value(box):
    from mpi4py import MPI
    return Box(box.value + BASE + MPI.COMM_WORLD.rank)

async def cell():  # as a notebook's cells run
    return [(type(one) is Box, one.value) for one in openlanai.run(value, 2, args=(Box(1),))]

if __name__ == "__main__":
    print(asyncio.run(cell()))
"""


@pytest.mark.parametrize("how", [["-"], ["FILE"]])
def test_functions_of_the_main_program_run(how, tmp_path):
    """From a file, and from standard input as an interactive interpreter has it; with an event loop running."""
    path = tmp_path / "main.py"
    path.write_text(MAIN)
    words = [str(path) if word == "FILE" else word for word in how]
    ran = subprocess.run(
        [sys.executable, *words], input=MAIN, capture_output=True, text=True, timeout=500, check=False, cwd=tmp_path
    )
    assert (ran.stdout, ran.stderr) == ("[(True, 4), (True, 5)]\n", "")


# The last lines of a run say that sender and receiver named different types.


def told(sent, received):
    """`sent` and `received`: the kinds of messages from rank 0 to rank 1 with one tag."""
    ours = [SeenType(True, 4, 1, 7, kind) for kind in sent]
    theirs = [SeenType(False, 4, 0, 7, kind) for kind in received]
    return differences({0: ours, 1: theirs})


def test_the_ranks_are_named():
    (one,) = told(["i4"], ["f4"])
    assert one == "rank 0 sends int to rank 1 with tag 7, which receives it as float"


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (["i4"], ["i4"]),
        (["i4", "f4"], ["f4"]),  # which message it was is not known
        (["PACKED"], ["i4"]),
        (["i4"], ["PACKED"]),
        (["BYTE"], ["u1"]),
        ([None], ["i4"]),
        (["i4"], [None]),
        ([], ["i4"]),  # the sender has kept no more
    ],
)
def test_what_may_be_right_is_not_told(sent, received):
    assert told(sent, received) == []


def test_a_rank_that_has_not_told():
    assert differences({0: None, 1: [SeenType(False, 4, 0, 7, "i4")]}) == []


PROGRAM = """
import numpy as np
from mpi4py import MPI
w = MPI.COMM_WORLD
other = 1 - w.rank
a = np.zeros(4, "i4")
w.Sendrecv_replace(a, other)
request = w.Irecv(a, other); w.Send(a, other); request.Wait()
MPI.Attach_buffer(bytearray(1000)); w.Bsend(a, other, 3); w.mprobe(other, 3).Recv(a)
assert w.sendrecv("object", other, source=other) == "object"
"""


@pytest.mark.parametrize(("last", "line"), [("w.Sendrecv(a, other, 9, np.zeros(4, 'f4'))", True), ("", False)])
def test_run(tmp_path, last, line):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + last)
    done = lanai("run", "-n", 2, "--device", "ideal", "--", "python", program, timeout=500)
    assert done.returncode == 0, done.stderr
    expected = "types differ: rank 0 sends int to rank 1 with tag 9, which receives it as float, and 1 more"
    assert (expected in done.stderr) == line
    assert ("types differ" in done.stderr) == line
