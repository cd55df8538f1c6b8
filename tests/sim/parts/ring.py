"""A program for tests: messages of two sizes, a collective of each kind, polls."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size

got = comm.sendrecv(rank, after, 7, None, before, 7)
long = bytearray(3000)
comm.Bcast(long)
request = comm.irecv(source=before)
comm.send(rank, after)
while not request.test()[0]:
    pass
comm.Barrier()
print(rank, got, comm.allreduce(rank))
