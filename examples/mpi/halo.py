"""Jacobi iteration on a 2-D grid, split over a Cartesian grid of ranks that swap their borders.

    lanai run -n 4 python examples/mpi/halo.py [SIDE] [STEPS]

The result is checked against the same iteration done by one rank on the whole grid.
"""

import sys

import numpy as np
from mpi4py import MPI

side = int(sys.argv[1]) if len(sys.argv) > 1 else 32
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10

comm = MPI.COMM_WORLD
grid = comm.Create_cart(MPI.Compute_dims(comm.size, 2), periods=(False, False), reorder=False)
rows, cols = (side // n for n in grid.dims)
if rows * grid.dims[0] != side or cols * grid.dims[1] != side:
    sys.exit(f"side {side} does not divide into {grid.dims[0]} x {grid.dims[1]} blocks; choose a multiple of both")


def initial(row, col):
    return np.sin(row * 0.7) + np.cos(col * 0.3)


def sweep(field):
    inner = field[1:-1, 1:-1]
    inner[:] = 0.25 * (field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:])


top, left = grid.coords[0] * rows, grid.coords[1] * cols
field = np.zeros((rows + 2, cols + 2))
field[1:-1, 1:-1] = initial(np.arange(top, top + rows)[:, None], np.arange(left, left + cols)[None, :])

north, south = grid.Shift(0, 1)
west, east = grid.Shift(1, 1)
column = MPI.DOUBLE.Create_vector(rows, 1, cols + 2).Commit()  # a column is a strided type: no packing here


def at(row, col):
    return field.reshape(-1)[row * (cols + 2) + col :]


def exchange():
    """Four borders, all in flight at once."""
    grid.Sendrecv(field[1, 1:-1], north, 0, field[-1, 1:-1], south, 0)
    grid.Sendrecv(field[-2, 1:-1], south, 1, field[0, 1:-1], north, 1)
    grid.Sendrecv([at(1, 1), 1, column], west, 2, [at(1, cols + 1), 1, column], east, 2)
    grid.Sendrecv([at(1, cols), 1, column], east, 3, [at(1, 0), 1, column], west, 3)


start = MPI.Wtime()
for _ in range(steps):
    exchange()
    sweep(field)
elapsed = MPI.Wtime() - start
column.Free()

blocks = grid.gather(field[1:-1, 1:-1].copy(), root=0)
if grid.rank == 0:
    whole = np.zeros((side + 2, side + 2))
    whole[1:-1, 1:-1] = initial(np.arange(side)[:, None], np.arange(side)[None, :])
    for _ in range(steps):
        sweep(whole)
    for other, block in enumerate(blocks):
        row, col = (c * n for c, n in zip(grid.Get_coords(other), (rows, cols), strict=True))
        np.testing.assert_allclose(block, whole[1 + row : 1 + row + rows, 1 + col : 1 + col + cols], rtol=0, atol=1e-12)
    shape = f"{grid.dims[0]} x {grid.dims[1]} ranks"
    print(f"halo {side} x {side} on {shape}: {elapsed / steps * 1e6:.1f} us a step, equal to one rank")
grid.Free()
