"""A barrier behind the send is taken to mean that MPI_Test finds the message."""

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
data = numpy.zeros(1, "i")
if comm.rank == 0:
    request = comm.Irecv(data, source=1)
    comm.Barrier()
    assert request.Test()
elif comm.rank == 1:
    request = comm.Isend(data, dest=0)
    comm.Barrier()
    request.Wait()
