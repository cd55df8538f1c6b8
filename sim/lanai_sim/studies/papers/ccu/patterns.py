"""The paper's programs (CC-B1 to CC-B9), run by `lanai run`: FILE REPETITIONS PATTERN SIZE...

Rank 0 writes to FILE as JSON: for each size and repetition when each rank began and ended, in
simulated microseconds, what each rank's NIC has counted in all, and how many messages followed each
other. Sizes are bytes of a message; for `reduce`,
`allreduce`, `reduce_scatter` and `scan` integers of each process, for `bitonic` keys of each
process, for `cannon` rows of a block. Each pattern begins with a barrier.
"""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from mpi4py import MPI

from lanai_sim.studies.kernels.measuring import read_all

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
PINGS = 4  # messages of `ping`
TALKS = 20  # messages each way of `talk`


def ping(size: int) -> None:
    """CC-B1: one process keeps sending."""
    data = bytearray(size)
    for _ in range(PINGS):
        if rank == 0:
            world.Send(data, 1)
        else:
            world.Recv(data, 0)


def pingpong(size: int) -> None:
    """CC-B2."""
    data = bytearray(size)
    if rank == 0:
        world.Send(data, 1)
        world.Recv(data, 1)
    else:
        world.Recv(data, 0)
        world.Send(data, 0)


def talk(size: int) -> None:
    """CC-G1: few messages at a time, for long."""
    for _ in range(TALKS):
        pingpong(size)


def stream(size: int) -> None:
    """CC-12: one long message."""
    if rank == 0:
        world.Send(bytearray(size), 1)
    else:
        world.Recv(bytearray(size), 0)


def exchange(size: int) -> None:
    """CC-B3."""
    theirs = bytearray(size)
    receive = world.Irecv(theirs, 1 - rank)
    world.Send(bytearray(size), 1 - rank)
    receive.Wait()


def bcast(size: int) -> None:
    """CC-B4."""
    world.Bcast(bytearray(size), 0)


def linear_bcast(size: int) -> None:
    """CC-21: a broadcast by point-to-point messages, as the paper compares."""
    data = bytearray(size)
    if rank == 0:
        for other in range(1, ranks):
            world.Send(data, other)
    else:
        world.Recv(data, 0)


def gather(size: int) -> None:
    """CC-B5."""
    world.Gather(bytearray(size), bytearray(size * ranks) if rank == 0 else None, 0)


def scatter(size: int) -> None:
    """CC-B6."""
    world.Scatter(bytearray(size * ranks) if rank == 0 else None, bytearray(size), 0)


def reduce(size: int) -> None:
    """CC-B7."""
    world.Reduce(np.zeros(size, "i4"), np.zeros(size, "i4"), MPI.SUM, 0)


def allgather(size: int) -> None:
    world.Allgather(bytearray(size), bytearray(size * ranks))


def alltoall(size: int) -> None:
    world.Alltoall(bytearray(size * ranks), bytearray(size * ranks))


def allreduce(size: int) -> None:
    world.Allreduce(np.zeros(size, "i4"), np.zeros(size, "i4"))


def reduce_scatter(size: int) -> None:
    world.Reduce_scatter_block(np.zeros(size * ranks, "i4"), np.zeros(size, "i4"))


def scan(size: int) -> None:
    world.Scan(np.zeros(size, "i4"), np.zeros(size, "i4"))


def bitonic(size: int) -> Callable[[], None]:
    """CC-B8: phases of exchanges between processes whose numbers differ in one bit. A check of the
    outcome, which is not timed."""
    mine = np.sort((np.arange(size, dtype="i4") * 7919 + rank * 104_729) % 65_521)
    theirs = np.empty_like(mine)
    stages = ranks.bit_length() - 1
    for stage in range(stages):
        for step in range(stage, -1, -1):
            partner = rank ^ 1 << step
            world.Sendrecv(mine, partner, 0, theirs, partner)
            merged = np.sort(np.concatenate((mine, theirs)))
            keeps_low = (rank >> step & 1) == (rank >> stage + 1 & 1)
            mine = np.ascontiguousarray(merged[:size] if keeps_low else merged[size:])
    return lambda: check_sorted(mine)


def check_sorted(mine: "np.ndarray[tuple[int], np.dtype[np.int32]]") -> None:
    """No process has a key that is less than one of a process before it."""
    edges = world.gather((int(mine[0]), int(mine[-1])))
    if edges is not None:
        assert all(before[1] <= after[0] for before, after in pairwise(edges))


def cannon(size: int) -> None:
    """CC-B9: blocks of A move left and blocks of B up, after they were aligned."""
    side = round(ranks**0.5)
    grid = world.Create_cart((side, side), periods=(True, True))
    row, column = grid.coords
    whole = np.arange((side * size) ** 2, dtype="f8").reshape(side * size, -1) % 17
    here = (slice(row * size, (row + 1) * size), slice(column * size, (column + 1) * size))
    a, b = np.ascontiguousarray(whole[here]), np.ascontiguousarray(whole.T[here])
    product = np.zeros_like(a)

    def shift(block: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", axis: int, by: int) -> None:
        source, dest = grid.Shift(axis, -by)
        grid.Sendrecv_replace(block, dest, 0, source)

    shift(a, 1, row)
    shift(b, 0, column)
    for step in range(side):
        product += a @ b
        if step < side - 1:
            shift(a, 1, 1)
            shift(b, 0, 1)
    assert (product == (whole @ whole.T)[here]).all()


PATTERNS: dict[str, Callable[[int], Callable[[], None] | None]] = {
    one.__name__: one
    for one in (
        ping, pingpong, talk, stream, exchange, bcast, linear_bcast, gather, scatter, reduce, allgather, alltoall,
        allreduce, reduce_scatter, scan, bitonic, cannon,
    )
}  # fmt: skip

SHARES = {"ping": PINGS, "pingpong": 2, "talk": 2 * TALKS}  # messages that follow each other in a run


def timed(name: str, size: int) -> tuple[float, float]:
    """Return when this process begins and ends a pattern, in microseconds.

    Nothing else is on the wire meanwhile: who is done waits for rank 0.
    """
    world.Barrier()
    begin = MPI.Wtime()
    check = PATTERNS[name](size)
    end = MPI.Wtime()
    world.Bcast(bytearray(1), 0)
    if check is not None:
        check()
    return 1e6 * begin, 1e6 * end


def main() -> None:
    file, repetitions, name, *sizes = sys.argv[1:]
    own = {size: [timed(name, int(size)) for _ in range(int(repetitions))] for size in sizes}
    everyone = world.gather((own, read_all()))
    if everyone is not None:
        runs = {size: list(zip(*(times[size] for times, _ in everyone), strict=True)) for size in sizes}
        counts = [counts for _, counts in everyone]
        Path(file).write_text(json.dumps({"times": runs, "counts": counts, "share": SHARES.get(name, 1)}))


main()
