"""Programs of several tests; run by `lanai run`. Arguments: the name of a function here, and its own."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD


def barriers():
    """Barriers of all ranks that begin in different orders, several at a time, beside messages and other groups."""
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


def one_way():
    """One long message from rank 0 to rank 1."""
    memory = bytearray(200_000)
    if world.rank == 0:
        memory[:] = b"7" * len(memory)
        world.Send([memory, MPI.BYTE], 1)
    else:
        world.Recv([memory, MPI.BYTE], 0)
        assert memory == b"7" * len(memory)
        print("all there")


def two_long(how):
    """Long sends both ways, then a wait for the receive first (T3-15). `how`: "wait" or "test"."""
    mine, theirs = np.full(9000, world.rank + 1, "u1"), np.zeros(9000, "u1")
    start = MPI.Wtime()
    send = world.Isend(mine, 1 - world.rank)
    posted = MPI.Wtime() - start
    receive = world.Irecv(theirs, 1 - world.rank)
    if how == "wait":
        receive.Wait()
    else:
        while not receive.Test():
            pass
    send.Wait()
    assert (theirs == 2 - world.rank).all()
    if world.rank == 0:
        print(f"Isend took {posted * 1e6:.0f} us")


def wrong_bytes(rounds, sizes):
    """Messages of several lengths, and how many came with wrong bytes."""
    lengths = [int(text) for text in sizes.split(",")]
    wrong = 0
    for number in range(int(rounds)):
        for length in lengths:
            mine = np.full(length, number % 251 + 1, "u1")
            theirs = np.zeros(length, "u1")
            world.Sendrecv(mine, 1 - world.rank, 3, theirs, 1 - world.rank, 3)
            wrong += not (theirs == mine).all()
    print(f"{wrong} of {int(rounds) * len(lengths)} messages wrong")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
