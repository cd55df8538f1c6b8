"""MPI messages of all kinds, checked byte for byte; run by `lanai run`."""

import sys

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
left, right = (rank - 1) % size, (rank + 1) % size


def pattern(length, source, number):
    return ((np.arange(length) * 7 + source * 31 + number * 3) % 251).astype("u1")


def posted_first(length):
    """The receive is known to the sender, who writes to its memory."""
    theirs = np.zeros(length + 2, "u1")
    receive = world.Irecv(theirs, left, 3)
    world.Barrier()
    world.Send(pattern(length, rank, 0), right, 3)
    status = MPI.Status()
    receive.Wait(status)
    assert (status.source, status.tag, status.Get_count(MPI.BYTE)) == (left, 3, length)
    assert (theirs[:length] == pattern(length, left, 0)).all()
    assert not theirs[length:].any()


def sent_first(length):
    """The messages lie in the receiver's FIFO, and are taken in another order."""
    starts = (world.Isend, world.Issend, world.Irsend)
    sends = [start(pattern(length, rank, n), right, 10 + n) for n, start in enumerate(starts)]
    world.Barrier()
    for n in (2, 0, 1):
        theirs = np.zeros(length, "u1")
        world.Recv(theirs, MPI.ANY_SOURCE, 10 + n)
        assert (theirs == pattern(length, left, n)).all()
    MPI.Request.Waitall(sends)


def truncated(length):
    world.Set_errhandler(MPI.ERRORS_RETURN)
    theirs = np.zeros(length - 1, "u1")
    receive = world.Irecv(theirs, left, 5)
    world.Barrier()
    send = world.Isend(pattern(length, rank, 0), right, 5)
    try:
        receive.Wait()
        told = MPI.SUCCESS
    except MPI.Exception as error:
        told = error.Get_error_class()
    assert told == MPI.ERR_TRUNCATE
    assert (theirs == pattern(length, left, 0)[:-1]).all()
    send.Wait()


def cancelled():
    """A receive whose request is at the sender is taken back; the next message is not written to
    its memory."""
    kept = np.zeros(100, "u1")
    receive = world.Irecv(kept, left, 6)
    world.Barrier()
    receive.Cancel()
    status = MPI.Status()
    receive.Wait(status)
    assert status.Is_cancelled()
    world.Barrier()
    theirs = np.zeros(100, "u1")
    send = world.Isend(pattern(100, rank, 1), right, 6)
    world.Recv(theirs, left, 6)
    send.Wait()
    assert (theirs == pattern(100, left, 1)).all()
    assert not kept.any()


for length in map(int, sys.argv[1].split(",")):
    posted_first(length)
    sent_first(length)
truncated(100)
cancelled()
total = world.allreduce(np.arange(3) + rank)
assert (total == np.arange(3) * size + size * (size - 1) // 2).all()
if rank == 0:
    print(f"all there after {MPI.Wtime():.9f} s")
