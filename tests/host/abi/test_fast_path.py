"""The short way of blocking calls on `ideal`: whatever goes on beside them, all is as it is the
long way, which a traced run takes."""

import sys

import pytest

from openlanai import Job

pytest.importorskip("mpi4py")
TRAFFIC = """
import random
import numpy as np
from mpi4py import MPI
w, dice, status = MPI.COMM_WORLD, random.Random(7), MPI.Status()
out, got = np.arange(5000, dtype=np.uint8), np.zeros(5000, np.uint8)
for step in range(300):
    kind, size, tag = dice.randrange(9), dice.choice([0, 1, 4, 100, 4000]), dice.randrange(3)
    first = dice.randrange(2) == w.rank  # to send
    peer = 1 - w.rank
    if kind < 4:
        if first:
            w.Send(out[:size], peer, tag)
        else:
            got[:] = 0
            source, which = MPI.ANY_SOURCE if kind == 1 else peer, MPI.ANY_TAG if kind == 2 else tag
            w.Recv(got, source, which, status)
            assert (status.source, status.tag, status.Get_count()) == (peer, tag, size)
            assert (got[:size] == out[:size]).all() and not got[size:].any()
    elif kind == 4:
        w.Ssend(out[:size], peer, tag) if first else w.Recv(got, peer, tag)
    elif kind == 5 and first:
        request = w.Irecv(got[:10], peer, 7)
        w.Send(out[:size], peer, tag)
        request.Wait()
    elif kind == 5:
        w.Recv(got, peer, tag)
        w.Ssend(out[:3], peer, 7)
    elif kind == 6:
        w.Barrier() if tag else w.allreduce(step)
    elif kind == 7:
        request = w.Ibarrier()
        w.Send(out[:size], peer, tag) if first else w.Recv(got, peer, tag)
        request.Wait()
    elif first:
        request = w.Issend(out[:size], peer, tag)
        w.Send(out[:2], peer, 5)
        request.Wait()
    else:
        w.Recv(got, peer, 5)
        w.Probe(peer, tag, status)
        assert status.Get_count() == size
        w.Recv(got, peer, tag)
        while w.Iprobe(peer, 99):
            pass
try:
    w.Send(out[:8], 1) if w.rank == 0 else w.Recv(got[:4], 0)
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_TRUNCATE
else:
    assert w.rank == 0
"""


def test_times_are_those_of_the_long_way(tmp_path):
    def clocks(**options):
        command = (sys.executable, "-c", TRAFFIC)
        done = Job(command, 2, max_wall=120).but(**options).run()
        assert (done.code, done.report) == (0, "")
        return done.clocks

    assert clocks() == clocks(trace=str(tmp_path / "trace"))
