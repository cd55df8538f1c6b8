"""The last lines of a run say that sender and receiver named different types."""

import pytest
from warm import lanai

from lanai_host.simulator.protocol import SeenType
from lanai_sim.signatures import differences


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
    done = lanai("run", "-n", 2, "--device", "ideal", "--", "python", program, timeout=60)
    assert done.returncode == 0, done.stderr
    expected = "types differ: rank 0 sends int to rank 1 with tag 9, which receives it as float, and 1 more"
    assert (expected in done.stderr) == line
    assert ("types differ" in done.stderr) == line
