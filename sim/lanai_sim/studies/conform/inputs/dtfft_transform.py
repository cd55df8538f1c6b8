"""dtFFT: a Fourier transform of a distributed array there and back, by each of its ways to
transpose."""

import dtfft
import numpy as np
from mpi4py import MPI

SHAPE = [6, 10, 8]

comm = MPI.COMM_WORLD
for backend in ("MPI_DATATYPE", "MPI_P2P", "MPI_P2P_PIPELINED", "MPI_A2A", "MPI_P2P_SCHEDULED", "MPI_P2P_FUSED"):
    config = dtfft.Config()
    config.backend = getattr(dtfft.Backend, backend)
    how = {"precision": dtfft.Precision.DOUBLE, "executor": dtfft.Executor.FFTW3, "config": config}
    plan = dtfft.PlanC2C(SHAPE, comm=comm, **how)
    size = plan.alloc_size
    x, y = plan.get_ndarray(size), plan.get_ndarray(size)
    pencil = plan.get_pencil(dtfft.Layout.X_PENCILS)
    n = pencil.size
    number = np.arange(n) + 1000 * comm.rank
    x[:] = 0
    x[:n] = np.cos(number) + 1j * np.sin(3 * number)
    before = x[:n].copy()
    plan.execute(x, y, dtfft.Execute.FORWARD)
    spectrum = comm.allreduce(float(np.abs(y).sum()))
    plan.execute(y, x, dtfft.Execute.BACKWARD)
    wrong = comm.allreduce(float(np.abs(x[:n] / np.prod(SHAPE) - before).max()), MPI.MAX)
    if comm.rank == 0:
        print("transform", backend, f"{spectrum:.6f}", wrong < 1e-12)
    plan.destroy()
