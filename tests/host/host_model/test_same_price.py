"""The same matches cost the same on every messaging system that matches on the host."""

import re
import sys

import pytest

from lanai_host.config import HostConfig, Queue
from lanai_host.stacks import names
from openlanai import Job

MATCH = 1_000_000_000  # ps: more than all else in these programs takes together
# Ten messages are there before their receives, then ten receives before their messages; both meet in reverse order.
PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
data = bytearray(4)

def took(work):
    before = MPI.Wtime()
    work()
    return MPI.Wtime() - before

def collect():
    for tag in reversed(range(10)):
        world.Recv(data, source=1, tag=tag)

if world.rank == 0:
    world.Recv(data, source=1, tag=99)
    first = took(collect)
    receives = [world.Irecv(bytearray(4), source=1, tag=tag) for tag in range(10)]
    world.Send(data, dest=1, tag=0)
    second = took(lambda: MPI.Request.Waitall(receives))
    print("looks", round(first * 1000), round(second * 1000))
else:
    for tag in (*range(10), 99):
        world.Send(data, dest=0, tag=tag)
    world.Recv(data, source=0, tag=0)
    for tag in reversed(range(10)):
        world.Send(data, dest=0, tag=tag)
"""
ON_THE_NIC = ("mpi-np",)
LOOKS = {Queue.LIST: (55, 56), Queue.HASH: (10, 11)}  # the last one is of rank 1, for which rank 0 waits


@pytest.mark.parametrize("queue", Queue)
@pytest.mark.parametrize("device", names())
def test_matches_cost_the_same(device, queue, capfd):
    host = HostConfig(match=MATCH, queue=queue)
    assert Job((sys.executable, "-c", PROGRAM), 2, device).but(host=host).run().code == 0
    found = re.search(r"looks (\d+) (\d+)", capfd.readouterr().out)
    assert tuple(map(int, found.groups())) == ((0, 0) if device in ON_THE_NIC else LOOKS[queue])
