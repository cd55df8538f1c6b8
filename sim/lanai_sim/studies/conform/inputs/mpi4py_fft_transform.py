"""mpi4py-fft: a Fourier transform of a distributed array there and back, and a convolution."""

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

comm = MPI.COMM_WORLD
for shape, axes, kind in (((8, 10, 12), (0, 1, 2), float), ((6, 4, 8), (2, 0, 1), complex), ((16, 9), (0, 1), float)):
    fft = PFFT(comm, shape, axes=axes, dtype=kind, grid=(-1,))
    u = newDistArray(fft, False)
    places = np.meshgrid(*(np.arange(n)[part] for n, part in zip(shape, u.local_slice(), strict=True)), indexing="ij")
    u[:] = sum(np.cos((k + 1) * place) for k, place in enumerate(places))
    spectrum = fft.forward(u)
    back = fft.backward(spectrum, newDistArray(fft, False))
    wrong = comm.allreduce(float(abs(back - u).max()), MPI.MAX)
    total = comm.allreduce(float(abs(spectrum).sum()))
    turned = comm.allreduce(float((abs(u.redistribute(len(shape) - 1)) ** 2).sum()))
    if comm.rank == 0:
        print("transform", *shape, f"{total:.9f} {turned:.9f}", wrong < 1e-12)
    fft.destroy()
