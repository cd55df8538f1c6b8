"""Host time of a standard and of a ready send of 512 bytes to a receive that is posted. Prints microseconds by name."""

from mpi4py import MPI

world = MPI.COMM_WORLD
mine, theirs = bytearray(512), bytearray(512)

for name, send in (("standard", world.Send), ("ready", world.Rsend)):
    for number in range(2):  # the first one pins
        receive = world.Irecv([theirs, MPI.BYTE], 0) if world.rank else None
        world.Barrier()
        if receive is not None:
            receive.Wait()
            continue
        begin = MPI.Wtime()
        send([mine, MPI.BYTE], 1)
        if number:
            print(f"{name} {(MPI.Wtime() - begin) * 1e6:.6f}")
