"""One long message from rank 0 to rank 1; run by `lanai run`."""

from mpi4py import MPI

world = MPI.COMM_WORLD
memory = bytearray(200_000)
if world.rank == 0:
    memory[:] = b"7" * len(memory)
    world.Send([memory, MPI.BYTE], 1)
else:
    world.Recv([memory, MPI.BYTE], 0)
    assert memory == b"7" * len(memory)
    print("all there")
