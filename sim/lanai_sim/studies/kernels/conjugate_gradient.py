"""Conjugate gradients for Poisson's equation on a plane whose rows are split over the ranks. In each iteration a rank
swaps its outer rows with both neighbours, and all ranks add up two dot products."""

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

world = MPI.COMM_WORLD
Rows = NDArray[np.float64]


def applied(rows: Rows) -> Rows:
    """Four times each point, less its neighbours. Around the plane are zeros."""
    above = world.rank - 1 if world.rank else MPI.PROC_NULL
    below = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
    block = np.pad(rows, 1)
    up, down = block[1].copy(), block[-2].copy()
    world.Sendrecv(down, below, 0, block[0], above, 0)
    world.Sendrecv(up, above, 1, block[-1], below, 1)
    result: Rows = 4 * rows - block[:-2, 1:-1] - block[2:, 1:-1] - block[1:-1, :-2] - block[1:-1, 2:]
    return result


def dot(one: Rows, other: Rows) -> float:
    total = np.empty(1)
    world.Allreduce(np.array([np.vdot(one, other)]), total)
    return float(total[0])


def solve(right: Rows, iterations: int) -> Rows:
    """Return this rank's rows of the solution after so many iterations."""
    solution = np.zeros_like(right)
    rest, way = right.copy(), right.copy()
    square = dot(rest, rest)
    for _ in range(iterations):
        change = applied(way)
        length = square / dot(way, change)
        solution += length * way
        rest -= length * change
        before, square = square, dot(rest, rest)
        way = rest + square / before * way
    return solution


def error(right: Rows, solution: Rows) -> float:
    """The size of what is left of the right side, as a share of it."""
    rest = right - applied(solution)
    return float(np.sqrt(dot(rest, rest) / dot(right, right)))


def problem(points: int) -> Rows:
    """Return this rank's rows of a right side whose solution is smooth."""
    x = np.arange(1, points + 1) / (points + 1)
    whole = np.outer(x * (1 - x), np.sin(np.pi * x))
    rows = points // world.size
    mine: Rows = whole[world.rank * rows : (world.rank + 1) * rows]
    return mine
