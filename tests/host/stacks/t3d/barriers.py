"""Barriers of all ranks that begin in different orders, several at a time, beside messages and other groups."""

from mpi4py import MPI

world = MPI.COMM_WORLD
twin = world.Dup()
half = world.Split(world.rank % 2)
for _ in range(3):
    first, second = (world, twin) if world.rank % 2 else (twin, world)
    MPI.Request.Waitall([first.Ibarrier(), second.Ibarrier(), world.Ibarrier(), world.Ibarrier()])
    half.Barrier()
if world.rank == 0:
    request = world.Ibarrier()
    assert not request.Test()
    world.send("late", 1)
    request.Wait()
else:
    assert world.rank != 1 or world.recv(source=0) == "late"
    world.Ibarrier().Wait()  # a barrier that blocks would not match one that does not
print("passed")
