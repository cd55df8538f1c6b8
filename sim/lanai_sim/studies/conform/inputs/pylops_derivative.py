"""pylops-mpi: a first derivative of a distributed array and its adjoint."""

import numpy as np
import pylops_mpi
from mpi4py import MPI

SIZE = 64

rank = MPI.COMM_WORLD.rank
x = pylops_mpi.DistributedArray(global_shape=SIZE, dtype=np.float64)
mine = x.local_shape[0]
x[:] = np.arange(rank * mine, (rank + 1) * mine, dtype=np.float64) ** 2
operator = pylops_mpi.MPIFirstDerivative(SIZE, dtype=np.float64)
y = operator @ x
z = operator.H @ y
sums = y.asarray().sum(), z.asarray().sum(), abs(z.asarray()).max()
if rank == 0:
    print("sums", *(f"{one:.9f}" for one in sums))
