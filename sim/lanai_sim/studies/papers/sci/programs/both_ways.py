"""Each rank stores to both its neighbours at once. Arguments: bytes to each, bytes of a put. Prints
the least MiB/s of a rank and the Jain index of all."""

import mmap
import sys

import numpy as np
from mpi4py import MPI

total, size = map(int, sys.argv[1:3])
world = MPI.COMM_WORLD
neighbours = [(world.rank + step) % world.size for step in (-1, 1)]
window = MPI.Win.Allocate(2 * total, 1, comm=world)
mine = np.frombuffer(mmap.mmap(-1, size), "u1")  # it begins with a page
mine[:] = 1 + world.rank
window.Lock_all()
world.Barrier()
begin = MPI.Wtime()
for offset in range(0, total, size):
    for side, neighbour in enumerate(neighbours):
        window.Put([mine, MPI.BYTE], neighbour, (side * total + offset, size, MPI.BYTE))
window.Flush_all()
time = MPI.Wtime() - begin
window.Unlock_all()
rates = 2 * total / np.array(world.allgather(time)) / 2**20
own = np.frombuffer(window.tomemory().tobytes(), "u1")
assert (own[:total] == 1 + neighbours[1]).all()
assert (own[total:] == 1 + neighbours[0]).all()
if world.rank == 0:
    print(f"least {rates.min():.6f}")
    print(f"jain {rates.sum() ** 2 / (world.size * (rates**2).sum()):.6f}")
window.Free()
