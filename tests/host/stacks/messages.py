"""MPI messages of all kinds, checked byte for byte; run by `lanai run` on the systems named in the
folders below."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
left, right = (rank - 1) % size, (rank + 1) % size


def pattern(length, source, number):
    return ((np.arange(length) * 7 + source * 31 + number * 3) % 251).astype("u1")


def exchange(length):
    """Around the ring, posted early; standard and synchronous."""
    for start in (world.Isend, world.Issend):
        theirs = np.zeros(length, "u1")
        receive = world.Irecv(theirs, left, 3)
        send = start(pattern(length, rank, 0), right, 3)
        MPI.Request.Waitall([receive, send])
        assert (theirs == pattern(length, left, 0)).all(), (length, start)


def unexpected(length):
    """Four messages that come before their receives, taken in another order, from anyone, into
    longer buffers."""
    sends = [world.Isend(pattern(length, rank, n), right, 10 + n) for n in range(4)]
    world.Barrier()
    for n in (2, 0, 3, 1):
        status, theirs = MPI.Status(), np.zeros(length + 5, "u1")
        world.Recv(theirs, MPI.ANY_SOURCE, 10 + n, status)
        assert status.Get_count(MPI.BYTE) == length
        assert status.source == left
        assert (theirs[:length] == pattern(length, left, n)).all(), (length, n)
    MPI.Request.Waitall(sends)


def ready(length):
    theirs = np.zeros(length, "u1")
    receive = world.Irecv(theirs, left, 6)
    world.Barrier()
    send = world.Irsend(pattern(length, rank, 1), right, 6)
    MPI.Request.Waitall([receive, send])
    assert (theirs == pattern(length, left, 1)).all(), length


def truncated(length):
    world.Set_errhandler(MPI.ERRORS_RETURN)
    send = world.Isend(pattern(length, rank, 0), right, 5)
    theirs = np.zeros(length - 1, "u1")
    found = world.Irecv(theirs, left, 5)
    try:
        found.Wait()
        told = MPI.SUCCESS
    except MPI.Exception as error:
        told = error.Get_error_class()
    assert told == MPI.ERR_TRUNCATE
    assert (theirs == pattern(length, left, 0)[:-1]).all()
    send.Wait()


def scattered():
    every_third = MPI.INT.Create_vector(700, 1, 3).Commit()
    mine, theirs = np.arange(2100, dtype="i") * (rank + 1), np.zeros(2100, "i")
    world.Sendrecv([mine, 1, every_third], right, 1, [theirs, 1, every_third], left, 1)
    assert (theirs[::3] == np.arange(0, 2100, 3) * (left + 1)).all()
    every_third.Free()


def same_order(count):
    """Messages of one sender do not overtake each other, whatever their lengths."""
    lengths = [(n * 997) % 3000 for n in range(count)]
    sends = [world.Isend(pattern(length, rank, n), right, 8) for n, length in enumerate(lengths)]
    for n, length in enumerate(lengths):
        theirs = np.zeros(3000, "u1")
        world.Recv(theirs, left, 8)
        assert (theirs[:length] == pattern(length, left, n)).all(), n
    MPI.Request.Waitall(sends)


def many(count, length, start):
    """More sends under way than there are flags or reply structures for."""
    sends = [start(pattern(length, rank, n), right, n) for n in range(count)]
    for n in reversed(range(count)):
        theirs = np.zeros(length, "u1")
        world.Recv(theirs, left, n)
        assert (theirs == pattern(length, left, n)).all(), n
    MPI.Request.Waitall(sends)


def small_collectives(count):
    """From each root, and more under way than there are cells for; NICs may carry them on."""
    begun = []
    for n in range(count):
        root, own = n % size, np.array([100 * n + rank])
        got, total, sums, pair = own.copy(), np.zeros(1, int), np.zeros(1, int), np.array([n + 0.5, rank])
        world.Bcast(got, root)
        assert got[0] == 100 * n + root
        world.Reduce(own, total, MPI.MAX, root)
        assert rank != root or total[0] == 100 * n + size - 1
        world.Allreduce(MPI.IN_PLACE, pair)
        assert pair.tolist() == [size * (n + 0.5), size * (size - 1) / 2]
        begun += [(world.Ibcast(own if rank == root else got, root), got if rank != root else own, 100 * n + root, own)]
        begun += [(world.Iallreduce(own, sums), sums, 100 * n * size + size * (size - 1) // 2, own)]
    for request, found, expected, _ in reversed(begun):  # mpi4py does not keep what these send
        request.Wait()
        assert found[0] == expected


for length in map(int, sys.argv[1].split(",")):
    exchange(length)
    unexpected(length)
ready(700)
ready(5000)
truncated(100)
truncated(5000)
scattered()
same_order(20)
many(70, 8, world.Issend)
many(20, 2000, world.Isend)
small_collectives(12)
assert world.sendrecv("me", rank, 5, source=rank, recvtag=5) == "me"
assert world.allreduce(rank) == size * (size - 1) // 2
if rank == 0:
    print(f"all there after {MPI.Wtime():.9f} s")
