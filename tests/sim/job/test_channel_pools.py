"""Channels that share pools, on the gateware: an mpi4py program whose messages lie in host memory
while others come."""

import sys

from lanai_firmware.programs.mpi_np.plan import McpConfig
from openlanai import Job

LATE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
me, ranks = world.rank, range(world.size)
for size in (10, 3000):
    sent = [world.Isend(bytes([16 * me + tag]) * size, rank, tag) for rank in ranks for tag in range(3)]
    world.Barrier()
    for tag in (2, 1, 0):
        for rank in reversed(ranks):
            buffer = bytearray(size)
            world.Recv(buffer, rank, tag)
            assert buffer == bytes([16 * rank + tag]) * size, (rank, tag)
    MPI.Request.Waitall(sent)
print("all right")
"""


def test_late_receives_through_one_room(capfd):
    command = (sys.executable, "-c", LATE)
    result = Job(command, 3, "mpi-np", options=McpConfig(resident=1)).run()
    assert (result.code, result.report) == (0, "")
    assert capfd.readouterr().out.count("all right") == 3
