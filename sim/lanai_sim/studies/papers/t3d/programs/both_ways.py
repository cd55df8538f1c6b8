"""Long sends both ways, then a wait for the receive first (T3-15)."""

from mpi4py import MPI

world = MPI.COMM_WORLD
mine, theirs = bytearray(b"7" * 9000), bytearray(9000)
send = world.Isend([mine, MPI.BYTE], 1 - world.rank)
receive = world.Irecv([theirs, MPI.BYTE], 1 - world.rank)
receive.Wait()
send.Wait()
assert mine == theirs
