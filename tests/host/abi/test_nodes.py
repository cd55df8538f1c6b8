"""Ranks that share a node find each other."""

import sys

from openlanai import Job

PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
node = world.Split_type(MPI.COMM_TYPE_SHARED)
names = node.allgather((world.rank, MPI.Get_processor_name()))
expected = [rank for rank in range(world.size) if rank // 2 == world.rank // 2]
assert names == [(rank, f"127.0.0.{rank // 2 + 1}") for rank in expected], names
"""


def test_split_by_shared_memory_is_split_by_node():
    command = (sys.executable, "-c", PROGRAM)
    assert Job(command, 5, ranks_per_node=2).run().code == 0
