"""Puts and gets of the sizes in the first argument, of one rank and of all: between fences, and from
`Start` to `Complete`."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other = (world.rank + 1) % world.size
before = (world.rank - 1) % world.size


def pattern(size, rank):
    return (np.arange(size) * 7 + rank).astype("u1")


for size in map(int, sys.argv[1].split(",")):
    for origins in ([1], range(world.size)):
        memory, mine = np.zeros(2 * size + 8, "u1"), pattern(size, world.rank)
        window = MPI.Win.Create(memory, comm=world)
        window.Fence()
        if world.rank in origins:
            window.Put(mine, other)
        window.Fence()
        expected = pattern(size, before) if before in origins else np.zeros(size, "u1")
        assert (memory[:size] == expected).all()
        assert not memory[size:].any()
        got = np.zeros(size, "u1")
        if world.rank in origins:
            window.Get(got, other)
        window.Fence()
        if world.rank in origins:
            assert (got == mine).all()
        memory[:] = 0
        world.Barrier()
        if before in origins:
            window.Post(world.group.Incl([before]))
        if world.rank in origins:
            window.Start(world.group.Incl([other]))
            window.Put(mine, other)
            window.Complete()
        if before in origins:
            window.Wait()
            assert (memory[:size] == expected).all()
        window.Free()
print("all there", flush=True)
