"""Cannon's matrix product on a square torus of ranks: align, then multiply and shift.

lanai run -n 4 python examples/mpi/cannon.py [BLOCK]
"""

import sys
from math import isqrt

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
side = isqrt(comm.size)
if side * side != comm.size:
    sys.exit(f"{comm.size} ranks make no square; use 1, 4, 9, 16, ...")
block = int(sys.argv[1]) if len(sys.argv) > 1 else 16

torus = comm.Create_cart((side, side), periods=(True, True), reorder=False)
row, col = torus.coords
random = np.random.default_rng(torus.rank)
a, b = random.random((block, block)), random.random((block, block))
first_a, first_b = a.copy(), b.copy()
c = np.zeros((block, block))


def shift(matrix, dimension, steps):
    source, destination = torus.Shift(dimension, steps)
    torus.Sendrecv_replace(matrix, destination, source=source)


start = MPI.Wtime()
shift(a, 1, -row)  # row i of A goes left by i, column j of B up by j
shift(b, 0, -col)
for _ in range(side):
    c += a @ b
    shift(a, 1, -1)
    shift(b, 0, -1)
elapsed = MPI.Wtime() - start

parts = torus.gather((first_a, first_b, c), root=0)
if torus.rank == 0:

    def whole(which):
        return np.block([[parts[i * side + j][which] for j in range(side)] for i in range(side)])

    np.testing.assert_allclose(whole(2), whole(0) @ whole(1), rtol=1e-12)
    order = side * block
    print(f"cannon {order} x {order} on {side} x {side} ranks: {elapsed * 1e6:.1f} us in all, product is right")
torus.Free()
