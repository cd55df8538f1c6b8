"""Messages of three sizes back and forth between ranks 0 and 1: the time of one way, each size by
another protocol of the NIC."""

import mmap

import numpy
from mpi4py import MPI

ROUNDS = 3
world = MPI.COMM_WORLD
if world.size != 2:
    raise SystemExit(f"{world.size} ranks: a ping-pong is played by 2")
peer = 1 - world.rank

for size in (4, 1024, 20_000):
    buffer = numpy.frombuffer(mmap.mmap(-1, size), "u1")  # begins with a page: what malloc gives may cross one more
    buffer[:] = world.rank
    world.Barrier()
    start = MPI.Wtime()
    for _ in range(ROUNDS):
        if world.rank == 0:
            world.Send(buffer, peer)
            world.Recv(buffer, peer)
        else:
            world.Recv(buffer, peer)
            world.Send(buffer, peer)
    took = (MPI.Wtime() - start) / (2 * ROUNDS)
    assert (buffer == 0).all(), "rank 0's bytes came back as others"
    if world.rank == 0:
        print(f"{size:6} bytes {took * 1e6:8.2f} us one way")
