"""Jacobi steps on a plane of points that is split into blocks. In each step a rank swaps the edges of its block
with up to four neighbours, all at once."""

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

world = MPI.COMM_WORLD
Grid = NDArray[np.float64]  # with a frame of neighbours' points


class Plane:
    """A square of `points` x `points`, with zeros around."""

    def __init__(self, points: int) -> None:
        self._points = points
        self._grid = world.Create_cart(MPI.Compute_dims(world.size, 2))
        self._neighbours = [rank for axis in range(2) for rank in self._grid.Shift(axis, 1)]
        rows, columns = (points // count for count in self._grid.dims)
        self._own = np.s_[self._start(0) : self._start(0) + rows, self._start(1) : self._start(1) + columns]
        self.block = np.pad(start(points)[self._own], 1)

    def _start(self, axis: int) -> int:
        return int(self._grid.coords[axis]) * (self._points // int(self._grid.dims[axis]))

    def steps(self, count: int) -> None:
        for _ in range(count):
            self._swap()
            step(self.block)

    def _swap(self) -> None:
        block = self.block
        frame = (block[0, 1:-1], block[-1, 1:-1], block[1:-1, 0], block[1:-1, -1])
        edges = (block[1, 1:-1], block[-2, 1:-1], block[1:-1, 1], block[1:-1, -2])
        coming = [np.zeros(part.size) for part in frame]
        # A message's tag is the side at which it arrives: 0 is opposite to 1, and 2 to 3.
        requests = [self._grid.Irecv(part, rank, side) for side, (part, rank) in self._sides(coming)]
        requests += [self._grid.Isend(part.copy(), rank, side ^ 1) for side, (part, rank) in self._sides(edges)]
        MPI.Request.Waitall(requests)
        for into, part in zip(frame, coming, strict=True):
            into[:] = part

    def _sides(self, parts: "list[Grid] | tuple[Grid, ...]") -> "enumerate[tuple[Grid, int]]":
        return enumerate(zip(parts, self._neighbours, strict=True))

    def error(self, count: int) -> float:
        """The largest difference of any rank from the same steps on the whole plane."""
        whole = np.pad(start(self._points), 1)
        for _ in range(count):
            step(whole)
        ours = float(np.abs(self.block[1:-1, 1:-1] - whole[1:-1, 1:-1][self._own]).max())
        return float(world.allreduce(ours, MPI.MAX))


def start(points: int) -> Grid:
    values: Grid = np.random.default_rng(3).standard_normal((points, points))
    return values


def step(grid: Grid) -> None:
    grid[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4
