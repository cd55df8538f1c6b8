"""Four ranks: kernels of programs, each with a checked result. Computing costs nothing: the times are those of
communication, of the slowest rank."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from lanai_sim.studies.kernels import conjugate_gradient, halo, integer_sort, multigrid

WORLD = MPI.COMM_WORLD
FREE = 0.0  # microseconds of computing


def longest(kernel: Callable[[], Any]) -> tuple[float, Any]:
    """Return the microseconds of the slowest rank, and the kernel's result."""
    WORLD.Barrier()
    begin = MPI.Wtime()
    result = kernel()
    return float(WORLD.allreduce(MPI.Wtime() - begin, MPI.MAX) * 1e6), result


def steps(points: int = 64, count: int = 2) -> tuple[float, str]:
    plane = halo.Plane(points)
    time, _ = longest(lambda: plane.steps(count))
    assert plane.error(count) < 1e-12
    total = WORLD.allreduce(float(np.square(plane.block[1:-1, 1:-1]).sum()))
    return time / count, f"sum of squares {total:.6f}"


def gradients(points: int = 32, iterations: int = 4) -> tuple[float, str]:
    right = conjugate_gradient.problem(points)
    time, solution = longest(lambda: conjugate_gradient.solve(right, iterations))
    error = conjugate_gradient.error(right, solution)
    assert error < 0.5
    return time / iterations, f"rest {error:.9f}"


def keys(count: int = 4096) -> tuple[float, str]:
    mine = integer_sort.keys_of(WORLD.rank, count // WORLD.size)
    time, result = longest(lambda: integer_sort.sort(mine, 1, FREE))
    integer_sort.check(mine, result)
    sizes = WORLD.allgather(len(result))
    return time, f"keys of the ranks {sizes}"


def cycle(points: int = 8) -> tuple[float, str]:
    exchange = multigrid.Exchange(wildcard=True)
    solver, right = multigrid.Solver(exchange, FREE), multigrid.problem(points, exchange)
    grid = np.zeros_like(right)
    time, _ = longest(lambda: solver.cycle(grid, right))
    error = multigrid.norm(solver.residual(grid, right)) / multigrid.norm(right)
    assert error < 0.6
    return time, f"rest {error:.9f}"


KERNELS: dict[str, Callable[[], tuple[float, str]]] = {
    "halo step, 64 x 64": steps,
    "CG iteration, 32 x 32": gradients,
    "integer sort, 4096 keys": keys,
    "multigrid cycle, 8 x 8 x 8": cycle,
}


def main() -> None:
    found = {}
    for title, kernel in KERNELS.items():
        time, answer = kernel()
        found[f"{title}, {WORLD.size} ranks, us"] = round(time, 2)
        if WORLD.rank == 0:
            print(f"{title}: {answer}")
    if WORLD.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
