"""V-cycles for Poisson's equation on a periodic cube that communicate as NPB MG does:
FILE POINTS CYCLES WILDCARD.

Before each operation every rank exchanges the faces of its block with its neighbours, one axis after
the other: two receives, two sends, two waits. With WILDCARD 1 the receives name no source, as in
NPB 2.3, and 0 the neighbour.
"""

import math
import sys

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from lanai_sim.studies.kernels.measuring import compute, measured

POINT_US = 37.34e6 / (40 * 64**3)  # one process works 40 cycles on 64^3 points (table 4.5)
OPERATIONS = 3  # a level and cycle: smoothing down, residual, smoothing up
COARSE = 8 / 7  # points of all levels over those of the finest
LEAST = 2  # points of a rank along an axis on the coarsest level
OMEGA = 6 / 7  # of the smoother
SMOOTHINGS = 8  # on the coarsest level

world = MPI.COMM_WORLD
Grid = NDArray[np.float64]  # with a layer of neighbours' points around


class Exchange:
    """The faces of a block and those of its neighbours."""

    def __init__(self, wildcard: bool) -> None:
        self._wildcard = wildcard
        self.cube = world.Create_cart(MPI.Compute_dims(world.size, 3), [True] * 3)

    def __call__(self, grid: Grid) -> None:
        for axis in range(3):
            faces = np.moveaxis(grid, axis, 0)
            below, above = self.cube.Shift(axis, 1)
            # What comes from below was sent upwards.
            ways = [(below, 0, above, -2), (above, -1, below, 1)]
            coming = [np.empty(faces[0].shape) for _ in ways]
            first = 2 * axis  # an early face of the next axis does not meet a receive that names no source
            receives = [
                self.cube.Irecv(face, MPI.ANY_SOURCE if self._wildcard else source, tag)
                for tag, (face, (source, *_)) in enumerate(zip(coming, ways, strict=True), first)
            ]
            for tag, (_, _, dest, at) in enumerate(ways, first):
                self.cube.Send(np.ascontiguousarray(faces[at]), dest, tag)
            for receive, face, (_, into, *_) in zip(receives, coming, ways, strict=True):
                receive.Wait()
                faces[into] = face


class Solver:
    """V-cycles. `right` is the equation's right side.

    Parameters:
        point_us: what computing costs, a point and cycle.
    """

    def __init__(self, exchange: Exchange, point_us: float = POINT_US) -> None:
        self._exchange = exchange
        self._point_us = point_us

    def cycle(self, grid: Grid, right: Grid) -> None:
        """Down to the coarsest level and back."""
        least = min(grid.shape) - 2 <= LEAST
        for _ in range(SMOOTHINGS if least else 1):
            self._smooth(grid, right)
        if not least:
            rest = inner(self.residual(grid, right))
            coarse = surrounded(means_of_eights(rest) * 4)  # the distance of two points doubles
            change = np.zeros_like(coarse)
            self.cycle(change, coarse)
            inner(grid)[:] += inner(change).repeat(2, 0).repeat(2, 1).repeat(2, 2)
            self._smooth(grid, right)

    def residual(self, grid: Grid, right: Grid) -> Grid:
        result = np.zeros_like(grid)
        inner(result)[:] = inner(right) - self._applied(grid)
        return result

    def _smooth(self, grid: Grid, right: Grid) -> None:
        change = OMEGA / 6 * (self._applied(grid) - inner(right))
        inner(grid)[:] += change

    def _applied(self, grid: Grid) -> Grid:
        """The sum of the neighbours less six times the point."""
        self._exchange(grid)
        compute(self._point_us / (OPERATIONS * COARSE) * inner(grid).size)
        result = -6 * inner(grid)
        for axis in range(3):
            layers = np.moveaxis(grid, axis, 0)
            for layer in (layers[:-2], layers[2:]):
                result += np.moveaxis(layer[:, 1:-1, 1:-1], 0, axis)
        return result


def inner(grid: Grid) -> Grid:
    return grid[1:-1, 1:-1, 1:-1]


def surrounded(points: Grid) -> Grid:
    return np.pad(points, 1)


def means_of_eights(points: Grid) -> Grid:
    """The means of eight neighbouring points each."""
    x, y, z = (size // 2 for size in points.shape)
    means: Grid = points.reshape(x, 2, y, 2, z, 2).mean(axis=(1, 3, 5))
    return means


def norm(grid: Grid) -> float:
    return math.sqrt(world.allreduce(float((inner(grid) ** 2).sum())))


def problem(points: int, exchange: Exchange) -> Grid:
    """Return this rank's block of the right side, which sums up to zero."""
    whole = np.random.default_rng(1).standard_normal((points,) * 3)
    whole -= whole.mean()
    blocks = zip(exchange.cube.coords, exchange.cube.dims, strict=True)
    place = tuple(slice(at * points // count, (at + 1) * points // count) for at, count in blocks)
    return surrounded(whole[place])


def main() -> None:
    file, points, cycles, wildcard = sys.argv[1], *map(int, sys.argv[2:])
    exchange = Exchange(bool(wildcard))
    solver, right = Solver(exchange), problem(points, exchange)
    grid = np.zeros_like(right)

    def run() -> None:
        for _ in range(cycles):
            solver.cycle(grid, right)

    measured(world, file, run)
    rest = norm(solver.residual(grid, right)) / norm(right)
    assert rest < 0.6**cycles, rest


if __name__ == "__main__":
    main()
