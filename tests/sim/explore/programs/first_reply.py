"""Rank 0 takes the first reply for that of rank 1."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    replies = [comm.recv(source=MPI.ANY_SOURCE) for _ in range(comm.size - 1)]
    assert replies[0] == 1
else:
    comm.send(comm.rank, dest=0)
