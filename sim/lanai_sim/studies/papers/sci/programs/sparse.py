"""The paper's benchmark sparse (SC-B3, SC-B5): each rank walks through another's window in steps of
STRIDE accesses, all at once.

Arguments: put or get; shared or private; fence or pscw; ranks to the partner, or all partners with commas
between; calls at most; bytes of the window; access sizes. Prints microseconds a call, and the least and the
sum of the ranks' MiB/s, by access size.
"""

import mmap
import sys

import numpy as np
from mpi4py import MPI

from lanai_sim.studies.papers.sci.constants import STRIDE

operation, memory, synchronisation = sys.argv[1:4]
most, window_size = map(int, sys.argv[5:7])
world = MPI.COMM_WORLD
partners = list(map(int, sys.argv[4].split(",")))
if len(partners) == 1:
    partners = [(rank + partners[0]) % world.size for rank in range(world.size)]
partner = partners[world.rank]
senders = [rank for rank, one in enumerate(partners) if one == world.rank]
origins = world.group.Incl(senders)
targets = world.group.Incl([partner])
if memory == "shared":
    window = MPI.Win.Allocate(window_size, 1, comm=world)
else:
    window = MPI.Win.Create(mmap.mmap(-1, window_size), 1, comm=world)
mine = np.frombuffer(mmap.mmap(-1, window_size), "u1")  # it begins with a page
mine[:] = 1 + world.rank


def synchronise() -> None:
    if synchronisation == "fence":
        window.Fence()
    else:
        window.Complete()
        window.Wait()


def begin_epoch() -> None:
    if synchronisation == "pscw":
        window.Post(origins)
        window.Start(targets)


def walk(size: int, calls: int) -> None:
    call = window.Put if operation == "put" else window.Get
    for number in range(calls):
        call([mine[:size], MPI.BYTE], partner, (STRIDE * size * number, size, MPI.BYTE))


if synchronisation == "fence":
    window.Fence()
for size in map(int, sys.argv[7].split(",")):
    calls = max(1, min(most, window_size // (STRIDE * size)))
    begin_epoch()
    walk(size, 1)  # its memory is lent to the adapter
    synchronise()
    world.Barrier()
    start = MPI.Wtime()
    begin_epoch()
    walk(size, calls)
    synchronise()
    times = np.array(world.allgather(MPI.Wtime() - start))
    rates = calls * size / times / 2**20
    if world.rank == 0:
        print(f"latency_us.{size} {times.max() / calls * 1e6:.6f}")
        print(f"least.{size} {rates.min():.6f}")
        print(f"sum.{size} {rates.sum():.6f}")
    if operation == "put":
        at = STRIDE * size * np.arange(calls)
        own = np.frombuffer(window.tomemory().tobytes(), "u1")
        assert np.isin(own[at], [1 + rank for rank in senders] or 0).all()
        world.Barrier()
if synchronisation == "fence":
    window.Fence(MPI.MODE_NOSUCCEED)
window.Free()
