"""Two ranks: one-sided operations of rank 0 on the memory of rank 1, which waits in a barrier."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK = WORLD.rank
LONG = 65536
ROUNDS = 2


def shortest(operation: Callable[[], Any]) -> float:
    """Microseconds of the shortest round of rank 0."""
    best = 1.0
    WORLD.Barrier()
    for _ in range(ROUNDS if RANK == 0 else 0):
        begin = MPI.Wtime()
        operation()
        best = min(best, MPI.Wtime() - begin)
    WORLD.Barrier()
    return best * 1e6


def main() -> None:
    window = MPI.Win.Allocate(LONG, 1, comm=WORLD)
    raw: Any = window.tomemory()
    memory = np.frombuffer(raw, "u1")
    memory[:] = 7 * RANK
    ours, back = np.arange(LONG, dtype="u4").astype("u1"), np.zeros(LONG, "u1")
    one, old = np.ones(1, "i8"), np.zeros(1, "i8")
    WORLD.Barrier()

    def put(size: int) -> None:
        window.Put(ours[:size], 1)
        window.Flush(1)

    def get(size: int) -> None:
        window.Get(back[:size], 1)
        window.Flush(1)

    def add() -> None:
        window.Fetch_and_op(one, old, 1, op=MPI.SUM)
        window.Flush(1)

    def fence() -> None:
        if RANK == 0:
            window.Put(ours[:4], 1)
        window.Fence()

    window.Lock_all()
    found = {f"put of {size} B and flush, us": shortest(partial(put, size)) for size in (4, LONG)}
    found |= {f"get of {size} B and flush, us": shortest(partial(get, size)) for size in (4, LONG)}
    assert RANK or (back == ours).all()
    if RANK == 0:
        window.Put(np.zeros(8, "u1"), 1)
    found["fetch and add of 8 B, us"] = shortest(add)
    assert RANK or old[0] == ROUNDS - 1
    window.Unlock_all()
    window.Fence()
    begin = MPI.Wtime()
    fence()
    found["put of 4 B and fence, us"] = (MPI.Wtime() - begin) * 1e6
    sums = WORLD.gather(int(memory.astype("u4").sum()))
    window.Free()
    if RANK == 0:
        print(json.dumps({name: round(value, 2) for name, value in found.items()}))
        print("one-sided: bytes of both windows add up to", sums)


if __name__ == "__main__":
    main()
