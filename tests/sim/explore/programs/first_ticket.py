"""Rank 0 is taken to get the first ticket, since the counter is its own."""

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
window = MPI.Win.Allocate(8, comm=comm)
numpy.frombuffer(window, "q")[0] = 0
comm.Barrier()
one, ticket = numpy.ones(1, "q"), numpy.zeros(1, "q")
window.Lock(0)
window.Fetch_and_op(one, ticket, 0)
window.Unlock(0)
assert comm.rank or not ticket[0]
comm.Barrier()
window.Free()
