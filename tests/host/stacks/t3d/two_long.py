"""Long sends both ways, then a wait for the receive first (T3-15); run by `lanai run`. Argument: "wait" or "test"."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
mine, theirs = np.full(9000, world.rank + 1, "u1"), np.zeros(9000, "u1")
start = MPI.Wtime()
send = world.Isend(mine, 1 - world.rank)
posted = MPI.Wtime() - start
receive = world.Irecv(theirs, 1 - world.rank)
if sys.argv[1] == "wait":
    receive.Wait()
else:
    while not receive.Test():
        pass
send.Wait()
assert (theirs == 2 - world.rank).all()
if world.rank == 0:
    print(f"Isend took {posted * 1e6:.0f} us")
