"""Rank 0 sends, and computes for 4 ms behind each Isend. Rank 1, whose receive waits, prints how long after the
begin of the call the message was there, in microseconds, for each size of the command line."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
LINES = 1000  # of Python, at 2 us: a turn is two


def compute(lines):
    for _ in range(lines):
        pass


for size in map(int, sys.argv[1:]):
    data = bytearray(size)
    world.Barrier()
    if world.rank == 0:
        compute(LINES // 2)  # what the receive asks for arrives meanwhile
        begun = MPI.Wtime()
        send = world.Isend(data, 1, 5)
        compute(LINES)
        send.Wait()
        world.send(begun, 1, 7)
    else:
        world.Recv(data, 0, 5)
        there = MPI.Wtime()
        print(size, f"{1e6 * (there - world.recv(source=0, tag=7)):.0f}", flush=True)
