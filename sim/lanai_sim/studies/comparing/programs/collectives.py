"""Eight ranks: collective operations."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
CALLS = 2


def longest(operation: Callable[[], Any]) -> float:
    """Microseconds of the slowest rank, in the shorter of two calls. The first pins pages of buffers that the
    library allocates."""
    times = []
    for _ in range(CALLS):
        WORLD.Barrier()
        begin = MPI.Wtime()
        operation()
        times.append(MPI.Wtime() - begin)
    return float(min(map(max, zip(*WORLD.allgather(times), strict=True)))) * 1e6


def main() -> None:
    size, ranks = 1024, WORLD.size
    one, all_of_them, more = (np.zeros(length, "u1") for length in (size, ranks * size, ranks * size))
    numbers, sums = np.zeros(size // 8), np.zeros(size // 8)
    found = {
        f"barrier, {ranks} ranks, us": longest(WORLD.Barrier),
        f"bcast of 1 KiB, {ranks} ranks, us": longest(lambda: WORLD.Bcast(one, 0)),
        f"allreduce of 1 KiB, {ranks} ranks, us": longest(lambda: WORLD.Allreduce(numbers, sums)),
        f"alltoall of 1 KiB, {ranks} ranks, us": longest(lambda: WORLD.Alltoall(all_of_them, more)),
    }
    if WORLD.rank == 0:
        print(json.dumps({name: round(value, 2) for name, value in found.items()}))


if __name__ == "__main__":
    main()
