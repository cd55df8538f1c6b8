"""Pi by the midpoint rule, the intervals dealt out like cards, one reduction at the end.

lanai run -n 4 python examples/mpi/pi.py [INTERVALS]
"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
intervals = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
intervals = comm.bcast(intervals, root=0)

x = (np.arange(comm.rank, intervals, comm.size) + 0.5) / intervals
mine = np.array([np.sum(4.0 / (1.0 + x * x)) / intervals])
pi = np.zeros(1)
comm.Reduce(mine, pi, op=MPI.SUM, root=0)

if comm.rank == 0:
    error = abs(pi[0] - np.pi)
    assert error < 1.0 / intervals, error
    print(f"pi = {pi[0]:.10f} with {intervals} intervals on {comm.size} ranks")
