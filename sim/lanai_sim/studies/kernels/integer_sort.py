"""A bucket sort of integers that communicates as NPB IS does: FILE KEYS ITERATIONS.

In each iteration the sizes of all buckets are added up by an allreduce, each rank gets a run of
buckets with about the same number of keys, an all-to-all tells how many keys come, and another one
moves them.
"""

import sys

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from lanai_sim.studies.kernels.measuring import compute, measured

BUCKETS = 1 << 10
KEY_BITS = 16
KEY_US = 10.16e6 / (10 * 2**20)  # one process sorts 2^20 keys ten times (table 4.7)

world = MPI.COMM_WORLD
Keys = NDArray[np.int32]


def keys_of(rank: int, count: int) -> Keys:
    """Means of four uniform numbers."""
    random = np.random.default_rng(rank).integers(0, 1 << KEY_BITS, (4, count))
    means: Keys = (random.sum(axis=0) // 4).astype(np.int32)
    return means


def shares(total: NDArray[np.int64], ranks: int) -> NDArray[np.int64]:
    """The rank that each bucket goes to."""
    before = np.cumsum(total) - total
    owners: NDArray[np.int64] = np.minimum(before * ranks // max(1, int(total.sum())), ranks - 1)
    return owners


def exchange(keys: Keys) -> Keys:
    """The keys of the buckets that are this rank's."""
    buckets = keys >> (KEY_BITS - BUCKETS.bit_length() + 1)
    own = np.bincount(buckets, minlength=BUCKETS).astype(np.int32)
    total = np.empty_like(own)
    world.Allreduce(own, total)
    going = np.bincount(shares(total.astype(np.int64), world.size), own, world.size).astype(np.int32)
    coming = np.empty_like(going)
    world.Alltoall(going, coming)
    sent = keys[np.argsort(buckets, kind="stable")]
    got = np.empty(int(coming.sum()), np.int32)
    world.Alltoallv((sent, going), (got, coming))
    return got


def sort(keys: Keys, iterations: int, key_us: float = KEY_US) -> Keys:
    """Return this rank's part of the sorted keys. `key_us`: what computing costs, a key and iteration."""
    for _ in range(iterations):
        compute(key_us * len(keys) / 2)
        got = exchange(keys)
        compute(key_us * len(got) / 2)
    return np.sort(got)


def check(keys: Keys, result: Keys) -> None:
    """The ranks' results, one behind the other, are all keys in order."""
    bounds = [bound for part in world.allgather(result[[0, -1]].tolist() if len(result) else []) for bound in part]
    assert bounds == sorted(bounds)
    for power in range(3):
        sums = [int((part.astype(np.int64) ** power).sum()) for part in (keys, result)]
        assert world.allreduce(sums[0]) == world.allreduce(sums[1])


def main() -> None:
    file, keys, iterations = sys.argv[1], *map(int, sys.argv[2:])
    mine = keys_of(world.rank, keys // world.size)
    results: list[Keys] = []
    measured(world, file, lambda: results.append(sort(mine, iterations)))
    check(mine, results[0])


if __name__ == "__main__":
    main()
