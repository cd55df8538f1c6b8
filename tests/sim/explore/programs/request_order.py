"""Waitany is taken to give requests in the order of the list."""

import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    rooms = [numpy.zeros(1, "i") for _ in range(2)]
    requests = [comm.Irecv(room, source=1, tag=tag) for tag, room in enumerate(rooms)]
    order = []
    for _ in requests:
        order.append(MPI.Request.Waitany(requests))
    assert order == [0, 1], order
elif comm.rank == 1:
    for tag in range(2):
        comm.Send(numpy.array([5 + tag], "i"), dest=0, tag=tag)
