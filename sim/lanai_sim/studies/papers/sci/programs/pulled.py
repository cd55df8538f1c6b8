"""Long messages both ways and puts, while a cable is out. Arguments: bytes, turns. Prints the bytes
that are wrong, and the milliseconds it took."""

import sys

import numpy as np
from mpi4py import MPI

size, turns = map(int, sys.argv[1:3])
world = MPI.COMM_WORLD
other = 1 - world.rank
window = MPI.Win.Allocate(size, 1, comm=world)
wrong = 0
window.Fence()
begin = MPI.Wtime()
for turn in range(turns):
    mine = np.random.default_rng([turn, world.rank]).integers(0, 256, size, "u1")
    theirs = np.random.default_rng([turn, other]).integers(0, 256, size, "u1")
    found = np.empty_like(mine)
    world.Sendrecv(mine, other, turn, found, other, turn)
    window.Put(mine, other)
    window.Fence()
    put = np.frombuffer(window.tomemory().tobytes(), "u1")
    wrong += int(np.count_nonzero(found != theirs) + np.count_nonzero(put != theirs))
    window.Fence()
wrong = world.allreduce(wrong)
if world.rank == 0:
    print(f"wrong {wrong}")
    print(f"time_ms {(MPI.Wtime() - begin) * 1e3:.6f}")
window.Fence(MPI.MODE_NOSUCCEED)
window.Free()
