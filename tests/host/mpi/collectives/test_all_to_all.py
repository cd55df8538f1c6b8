"""MPI_Allgather and MPI_Alltoall with every algorithm, against what numpy says."""

import numpy as np
import pytest

from lanai_host.mpi import collectives as coll
from lanai_host.mpi.collectives.checks import Mixed, Part, Spread
from lanai_host.mpi.constants import IN_PLACE

from ..ranks import buffer
from .ways import COUNTS, SIZES, data, each_way


@pytest.mark.parametrize("size", SIZES)
def test_all_to_all(run, size):
    def program(world):
        comm = world.comm_world
        rank = comm.rank
        for count in COUNTS[:-1]:
            mine = data(rank, count)
            address, _, kind = buffer(mine)
            everything = np.concatenate([data(other, count) for other in range(size)])
            got = np.zeros(count * size, np.int64)
            for _ in each_way(comm, coll.allgather, Part(address, count, kind), Part(got.ctypes.data, count, kind)):
                assert np.array_equal(got, everything)
                got[:] = 0
            got[rank * count : (rank + 1) * count] = mine
            coll.run(comm, coll.allgather, Part(IN_PLACE, 0, kind), Part(got.ctypes.data, count, kind))
            assert np.array_equal(got, everything)
            rows = data(rank, count, size)
            columns = np.concatenate(
                [data(other, count, size)[rank * count : (rank + 1) * count] for other in range(size)]
            )
            for _ in each_way(
                comm, coll.alltoall, Part(rows.ctypes.data, count, kind), Part(got.ctypes.data, count, kind)
            ):
                assert np.array_equal(got, columns)
                got[:] = 0
            coll.run(comm, coll.alltoall, Part(IN_PLACE, 0, kind), Part(rows.ctypes.data, count, kind))
            assert np.array_equal(rows, columns)

    run(size, program)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_varied_forms(run, size):
    def program(world):
        comm = world.comm_world
        rank = comm.rank
        kind = buffer(data(0, 1))[2]
        counts = [(other + 1) % 3 for other in range(size)]
        starts = np.cumsum([0, *counts[:-1]]).tolist()
        got = np.zeros(sum(counts) + 1, np.int64)
        mine = data(rank, counts[rank])
        coll.run(
            comm,
            coll.allgatherv,
            Part(mine.ctypes.data, mine.size, kind),
            Spread(got.ctypes.data, counts, starts, kind),
        )
        expected = np.concatenate([data(other, counts[other]) for other in range(size)])
        assert np.array_equal(got[:-1], expected)
        # Rank r sends r + s elements to rank s.
        send_counts = [rank + other for other in range(size)]
        send_starts = np.cumsum([0, *send_counts[:-1]]).tolist()
        rows = np.concatenate([np.full(n, 10 * rank + other) for other, n in enumerate(send_counts)])
        rows = np.append(rows, 0).astype(np.int64)
        got = np.zeros(sum(send_counts) + 1, np.int64)
        expected = np.concatenate([np.full(rank + other, 10 * other + rank) for other in range(size)])
        coll.run(
            comm,
            coll.alltoallv,
            Spread(rows.ctypes.data, send_counts, send_starts, kind),
            Spread(got.ctypes.data, send_counts, send_starts, kind),
        )
        assert np.array_equal(got[:-1], expected)
        got[:] = 0
        in_bytes = [8 * start for start in send_starts]
        kinds = [kind] * size
        request = coll.start(
            comm,
            coll.alltoallw,
            Mixed(rows.ctypes.data, send_counts, in_bytes, kinds),
            Mixed(got.ctypes.data, send_counts, in_bytes, kinds),
        )
        request.wait()
        assert np.array_equal(got[:-1], expected)

    run(size, program)
