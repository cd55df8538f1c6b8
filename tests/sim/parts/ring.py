"""A program for tests: messages of two sizes, a collective of each kind, polls.

Its buffers are pages of their own. Where small objects lie depends on what the process that forks the ranks did before,
and a NIC that pins pages takes longer for two than for one."""

import mmap

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size


def ints(count, value=0):
    array = np.frombuffer(mmap.mmap(-1, 4 * count), "i4")
    array[:] = value
    return array


mine, got, total = ints(1, rank), ints(1), ints(1)
comm.Sendrecv(mine, after, 7, got, before, 7)
comm.Bcast(ints(750, rank))
polled = ints(1)
request = comm.Irecv(polled, before)
comm.Send(mine, after)
while not request.Test():
    pass
comm.Barrier()
comm.Allreduce(mine, total)
print(rank, got[0], polled[0], total[0])
