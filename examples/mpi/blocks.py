"""Time of a message whose blocks lie at a constant stride: every other block of an array.

Run: lanai run -n 2 --system t3d-1996 --option strided=4 python examples/mpi/blocks.py
"""

import numpy as np
from mpi4py import MPI

SIZE = 32768  # bytes of a message
BLOCKS = (8, 32, 128, 512, 2048, 8192)

world = MPI.COMM_WORLD
other = 1 - world.rank
mine, theirs = np.zeros(2 * SIZE, "u1"), np.zeros(SIZE, "u1")
for block in BLOCKS:
    every_other = MPI.BYTE.Create_vector(SIZE // block, block, 2 * block).Commit()
    begin = 0.0
    for _ in range(2):  # the first round is for warming up
        begin = MPI.Wtime()
        if world.rank == 0:
            world.Send([mine, 1, every_other], other)
            world.Recv(theirs, other)
        else:
            world.Recv(theirs, other)
            world.Send([mine, 1, every_other], other)
    if world.rank == 0:
        print(f"blocks of {block:4} bytes {(MPI.Wtime() - begin) / 2 * 1e6:9.1f} us one way")
    every_other.Free()
