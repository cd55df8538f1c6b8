"""Puts of 8 bytes, each with its flush, while the target waits in MPI and while it computes for
10 ms. Prints microseconds a put."""

import numpy as np
from mpi4py import MPI

BUSY, ROUNDS = 10e-3, 8
world = MPI.COMM_WORLD
mine = np.ones(8, "u1")

for memory in ("shared", "registered"):
    if memory == "shared":
        window = MPI.Win.Allocate(64, 1, comm=world)
    else:
        window = MPI.Win.Create(np.zeros(64, "u1"), 1, comm=world)
    for target, time in (("waits", 0.0), ("computes", BUSY)):
        world.Barrier()
        begin = MPI.Wtime()
        found = 0.0
        if world.rank == 1:
            window.Lock(0, MPI.LOCK_SHARED)
            start = MPI.Wtime()
            for _ in range(ROUNDS):
                window.Put([mine, MPI.BYTE], 0)
                window.Flush(0)
            found = (MPI.Wtime() - start) / ROUNDS * 1e6
            window.Unlock(0)
        else:
            while MPI.Wtime() < begin + time:
                pass
        found = world.bcast(found, 1)
        if world.rank == 0:
            print(f"{memory}.{target}_us {found:.6f}")
    window.Free()
