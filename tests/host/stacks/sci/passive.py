"""Puts and atomics at a target that does not enter MPI for 10 ms; run by `lanai run`.

Prints the time in microseconds of a put of 8 bytes with its flush, and of a fetch-and-op with its
flush: while the target waits in MPI, and while it computes.
"""

import numpy as np
from mpi4py import MPI

BUSY = 10e-3  # seconds
ROUNDS = 8
world = MPI.COMM_WORLD
window = MPI.Win.Allocate(64, 1, comm=world)
memory = np.frombuffer(window.tomemory(), "u1")
memory[:] = 0
data, one, old = np.arange(8, dtype="u1"), np.ones(1, "i"), np.zeros(1, "i")


def put():
    window.Put(data, 0, (8, 8, MPI.BYTE))
    window.Flush(0)


def add():
    window.Fetch_and_op(one, old, 0, 16)
    window.Flush(0)


def timed(call):
    begin = MPI.Wtime()
    for _ in range(ROUNDS):
        call()
    return (MPI.Wtime() - begin) / ROUNDS * 1e6


def measure():
    if world.rank == 1:
        window.Lock(0, MPI.LOCK_SHARED)
        found = [timed(put), timed(add)]
        window.Unlock(0)
        return found
    return None


world.Barrier()
begin = MPI.Wtime()
waiting = measure()
world.Barrier()
begin = MPI.Wtime()
if world.rank == 0:
    while MPI.Wtime() < begin + BUSY:
        pass
computing = measure()
took = MPI.Wtime() - begin
world.Barrier()
if world.rank == 1:
    assert took < BUSY / 2, took
    for name, (put_us, add_us) in (("waits", waiting), ("computes", computing)):
        print(f"target {name}: put {put_us:.2f} us, fetch-and-op {add_us:.2f} us")
else:
    assert (memory[8:16] == data).all()
    assert memory[16:20].view("i")[0] == 2 * ROUNDS
del memory
window.Free()
