"""A long message to memory that the sender does not have, and the same once more.

Prints microseconds: "first T", "second T".
"""

from mpi4py import MPI

world = MPI.COMM_WORLD
memory = bytearray(100_000)
for name in ("first", "second"):
    world.Barrier()
    begin = MPI.Wtime()
    if world.rank == 0:
        world.Ssend([memory, MPI.BYTE], 1)
        print(f"{name} {(MPI.Wtime() - begin) * 1e6:.6f}")
    else:
        world.Recv([memory, MPI.BYTE], 0)
