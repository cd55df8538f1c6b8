"""Sample sort: split by sampled pivots, send every key to its owner with one Alltoallv, sort what
arrived.

lanai run -n 4 python examples/mpi/sort.py [KEYS_PER_RANK]
"""

import sys
from itertools import pairwise

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
keys = np.sort(np.random.default_rng(comm.rank).integers(0, 1 << 30, count, dtype=np.int32))

samples = np.sort(np.concatenate(comm.allgather(keys[:: max(1, count // comm.size)])))
pivots = samples[np.arange(1, comm.size) * len(samples) // comm.size]
bounds = np.concatenate([[0], np.searchsorted(keys, pivots), [count]])
send_counts = np.diff(bounds).astype(np.int32)

receive_counts = np.empty_like(send_counts)
comm.Alltoall(send_counts, receive_counts)
mine = np.empty(receive_counts.sum(), dtype=np.int32)
comm.Alltoallv([keys, send_counts], [mine, receive_counts])
mine.sort()

edges = comm.allgather((len(mine), int(mine[0]), int(mine[-1])) if len(mine) else (0, None, None))
filled = [edge for edge in edges if edge[0]]
assert sum(edge[0] for edge in edges) == count * comm.size
assert all(left[2] <= right[1] for left, right in pairwise(filled))
assert comm.allreduce(int(keys.sum()), MPI.SUM) == comm.allreduce(int(mine.sum()), MPI.SUM)
if comm.rank == 0:
    print(f"sorted {count * comm.size} keys on {comm.size} ranks, blocks of {[edge[0] for edge in edges]}")
