"""All ranks send to all at once. Argument: bytes a message. Prints "us T", and "wrong N" of all ranks."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
size = int(sys.argv[1])
mine = b"".join(bytes([(7 * world.rank + rank) % 251]) * size for rank in range(world.size))
theirs = bytearray(len(mine))
world.Barrier()
begin = MPI.Wtime()
world.Alltoall([mine, MPI.BYTE], [theirs, MPI.BYTE])
spent = MPI.Wtime() - begin
right = b"".join(bytes([(7 * rank + world.rank) % 251]) * size for rank in range(world.size))
wrong = world.reduce(int(theirs != right))
if world.rank == 0:
    print(f"us {spent * 1e6:.6f}")
    print(f"wrong {wrong}")
