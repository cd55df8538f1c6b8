"""MPICH's mpptest in short: a ping-pong of two ranks (T3-B1). Arguments: sizes, repetitions, bytes
by which buffers are off.

Prints half a round trip in microseconds by size.
"""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
sizes = [int(text) for text in sys.argv[1].split(",")]
repeat, off = int(sys.argv[2]), int(sys.argv[3])
other = 1 - world.rank
most = max(sizes) + off
mine, theirs = bytearray(most), bytearray(most)

for size in sizes:
    send, receive = memoryview(mine)[off : off + size], memoryview(theirs)[off : off + size]
    begin = 0.0
    for number in range(repeat + 1):  # the first one pins, and extends memory
        if number == 1:
            begin = MPI.Wtime()
        if world.rank == 0:
            world.Send([send, MPI.BYTE], other)
            world.Recv([receive, MPI.BYTE], other)
        else:
            world.Recv([receive, MPI.BYTE], other)
            world.Send([send, MPI.BYTE], other)
    if world.rank == 0:
        print(f"{size} {(MPI.Wtime() - begin) / repeat / 2 * 1e6:.6f}")
