"""One call of Waitsome is taken to give all messages."""

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Barrier()
    rooms = [numpy.zeros(1, "i") for _ in range(comm.size - 1)]
    requests = [comm.Irecv(room, source=rank + 1) for rank, room in enumerate(rooms)]
    MPI.Request.Waitsome(requests)
    total = int(sum(rooms)[0])
    MPI.Request.Waitall(requests)
    assert total == sum(range(comm.size)), total
else:
    comm.Send(numpy.array([comm.rank], "i"), dest=0)
    comm.Barrier()
