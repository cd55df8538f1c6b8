"""The paper's benchmark noncontig (SC-B2): a vector of doubles with gaps as long as its blocks, from
rank 0 to rank 1. Arguments: bytes of a transfer, block sizes; 0 is the contiguous transfer.

Prints MiB/s by block size.
"""

import mmap
import sys

import numpy as np
from mpi4py import MPI

from lanai_sim.studies.papers.sci.constants import DOUBLE, GAP

world = MPI.COMM_WORLD
total = int(sys.argv[1])
pattern = np.arange(GAP * total // DOUBLE, dtype="d")
memory = np.frombuffer(mmap.mmap(-1, pattern.nbytes), "d")  # it begins with a page
answer = bytearray(1)

for block in map(int, sys.argv[2].split(",")):
    length = (block or total) // DOUBLE
    vector = MPI.DOUBLE.Create_vector(total // DOUBLE // length, length, GAP * length).Commit()
    memory[:] = pattern if world.rank == 0 else 0
    world.Barrier()
    begin = MPI.Wtime()
    if world.rank == 0:
        world.Send([memory, 1, vector], 1)
        world.Recv(answer, 1)
        print(f"{block} {total / (MPI.Wtime() - begin) / 2**20:.6f}")
    else:
        world.Recv([memory, 1, vector], 0)
        world.Send(answer, 0)
        blocks = np.arange(total // DOUBLE) // length
        at = blocks * (GAP - 1) * length + np.arange(total // DOUBLE)
        assert (memory[at] == pattern[at]).all()
        assert np.count_nonzero(memory) == np.count_nonzero(pattern[at])
    vector.Free()
