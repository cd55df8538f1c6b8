"""Rank 0 hears of the end before the last result, if rank 2 is quick with what rank 1 made it do."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    first = comm.recv(source=MPI.ANY_SOURCE)
    second = comm.recv(source=MPI.ANY_SOURCE)
    assert (first, second) == ("data", "end")
elif comm.rank == 1:
    comm.send("data", dest=0)
    comm.send("go", dest=2)
elif comm.rank == 2:
    comm.recv(source=MPI.ANY_SOURCE)
    comm.send("end", dest=0)
