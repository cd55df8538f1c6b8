"""A stray message on a rank's socket, not from the library, ends the run in one line."""

import socket
import sys

import pytest
from pairs import first_of

from lanai_host.simulator.protocol import HEADER, Op
from lanai_sim.job.rank import Rank, Stray
from lanai_sim.job.result import Exit
from openlanai import Job

PRINTF = b"hello world, printed to a wrong descriptor\n"


@pytest.mark.parametrize(
    "data",
    [PRINTF, HEADER.pack(0, 77, 0, 0), HEADER.pack(0, Op.POSTED_LAST, 0, 0), HEADER.pack(0, Op.SYNC, 1, 0)],
    ids=["text", "unknown", "none", "flags"],
)
def test_bytes_that_are_not_a_request(data):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rank = Rank(3, ours)
        theirs.sendall(HEADER.pack(0, Op.ELAPSE, 0, 5) + data)
        with pytest.raises(Stray, match="rank 3: bytes that are not the MPI library's") as caught:
            rank.read()
        assert repr(data[: HEADER.size]) in str(caught.value)
        assert rank.gone


def test_nothing_counts_that_comes_after_an_abort():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        rank = Rank(0, ours)
        abort = HEADER.pack(4, Op.ABORT, 0, 0) + bytes(4)
        theirs.sendall(HEADER.pack(0, Op.ELAPSE, 0, 5) + abort + abort + PRINTF)
        assert [one.op for one in rank.read()] == [Op.ELAPSE, Op.ABORT]
        theirs.sendall(abort)
        assert rank.read() is None
        theirs.close()
        assert rank.read() is None
        assert rank.gone


@pytest.mark.parametrize("device", first_of("ideal", "mpi-np"))
def test_a_program_that_writes_to_a_wrong_descriptor(device):
    text = f"""
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank:
    for file in range(3, 32):
        try:
            if os.readlink(f"/proc/self/fd/{{file}}").startswith("socket:"):
                os.write(file, {PRINTF!r})
        except OSError:
            pass
world.Barrier()
"""
    result = Job((sys.executable, "-c", text), 2, device, max_wall=60).run()
    assert result.code == Exit.FORBIDDEN
    assert result.report.startswith("rank 1: bytes that are not the MPI library's came on its connection to lanai")
    assert "\n" not in result.report
