"""The paper's two MPI programs (MB-B3, MB-B4), run by ranks of `lanai run`. Rank 0 writes what it measured to a file.

Where the buffers of a round trip lie decides how many pages they cross, and so how many packets there
are. Each turn has other places, multiples of 16 as malloc's are; the figure is the mean.
"""

ROUND_TRIP = """
import json, mmap, random, sys
from mpi4py import MPI
world, turns = MPI.COMM_WORLD, int(sys.argv[2])
found, chance = {}, random.Random(world.rank)
memory = memoryview(mmap.mmap(-1, 32768))


def place(half, size):
    begin = 16384 * half + 16 * chance.randrange(256)
    return memory[begin : begin + size]


for size in map(int, sys.argv[3:]):
    times = []
    for _ in range(turns):
        mine, theirs = place(0, size), place(1, size)
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
    found[size] = 1e6 * sum(times) / turns
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
