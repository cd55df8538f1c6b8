"""Half a round trip by messages, and an exchange of puts with its fence. Arguments: sizes. Prints
microseconds by size."""

import sys

import numpy as np
from mpi4py import MPI

ROUNDS = 4
world = MPI.COMM_WORLD
other = 1 - world.rank
sizes = [int(text) for text in sys.argv[1].split(",")]
window = MPI.Win.Allocate(max(sizes), 1, comm=world)
mine, theirs = np.zeros(max(sizes), "u1"), np.zeros(max(sizes), "u1")


def message(size: int) -> None:
    if world.rank == 0:
        world.Send([mine[:size], MPI.BYTE], other)
        world.Recv([theirs[:size], MPI.BYTE], other)
    else:
        world.Recv([theirs[:size], MPI.BYTE], other)
        world.Send([mine[:size], MPI.BYTE], other)


def exchange(size: int) -> None:
    window.Put([mine[:size], MPI.BYTE], other, (0, size, MPI.BYTE))
    window.Fence()


window.Fence()
for name, call, trips in (("two_sided", message, 2), ("one_sided", exchange, 1)):
    for size in sizes:
        call(size)
        world.Barrier()
        begin = MPI.Wtime()
        for _ in range(ROUNDS):
            call(size)
        if world.rank == 0:
            print(f"{name}.{size} {(MPI.Wtime() - begin) / ROUNDS / trips * 1e6:.6f}")
window.Fence(MPI.MODE_NOSUCCEED)
window.Free()
