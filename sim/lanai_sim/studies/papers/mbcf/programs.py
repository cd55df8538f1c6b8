"""The paper's two MPI programs, run by ranks of `lanai run`. Rank 0 writes what it measured to a file."""

ROUND_TRIP = """
import json, sys
from mpi4py import MPI
world, turns = MPI.COMM_WORLD, int(sys.argv[2])
found = {}
for size in map(int, sys.argv[3:]):
    mine, theirs, times = bytearray(size), bytearray(size), []
    for _ in range(turns):
        receive = world.Irecv(theirs, 1 - world.rank)
        world.Barrier()
        ready = MPI.Wtime() + 1e-4 * (2 - world.rank)
        while MPI.Wtime() < ready:  # the barrier has used up the requests: new ones come (MB-23)
            world.Iprobe(1 - world.rank, 1)
        start = MPI.Wtime()
        if world.rank == 0:
            world.Send(mine, 1)
            receive.Wait()
        else:
            receive.Wait()
            world.Send(mine, 0)
        times.append(MPI.Wtime() - start)
    found[size] = 1e6 * min(times)
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""

BANDWIDTH = """
import json, sys
from mpi4py import MPI
world, total = MPI.COMM_WORLD, int(sys.argv[2])
found = {}
for size in map(int, sys.argv[3:]):
    buffer, count = bytearray(size), max(1, min(100, total // size))
    world.Barrier()
    start = MPI.Wtime()
    for _ in range(count):
        if world.rank == 0:
            world.Send(buffer, 1)
        else:
            world.Recv(buffer, 0)
    world.Barrier()
    found[size] = count * size / (MPI.Wtime() - start) / 1e6
if world.rank == 0:
    json.dump(found, open(sys.argv[1], "w"))
"""
