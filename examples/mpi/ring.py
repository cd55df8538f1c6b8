"""A token goes once around: every rank adds its number and passes it on.

lanai run -n 4 python examples/mpi/ring.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

start = MPI.Wtime()
if rank == 0:
    comm.send(0, dest=(rank + 1) % size)
    total = comm.recv(source=(rank - 1) % size)
    assert total == sum(range(size)), total
    print(f"ring of {size}: token {total}, {(MPI.Wtime() - start) / size * 1e6:.2f} us a hop")
else:
    comm.send(comm.recv(source=rank - 1) + rank, dest=(rank + 1) % size)
